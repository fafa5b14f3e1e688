package inproc

import (
	"github.com/google/jsonschema-go/jsonschema"
)

// parts makes the nodes within a schema.
func (b *builder) parts(n *node, s *jsonschema.Schema, place string) error {
	for _, group := range []struct {
		keyword string
		list    []*jsonschema.Schema
		into    *[]*node
	}{
		{"allOf", s.AllOf, &n.same}, {"anyOf", s.AnyOf, &n.same}, {"oneOf", s.OneOf, &n.same},
		{"prefixItems", s.PrefixItems, &n.first}, {"items", s.ItemsArray, &n.first},
	} {
		for i, part := range group.list {
			if err := b.add(group.into, part, at(place, group.keyword, i)); err != nil {
				return err
			}
		}
	}
	if err := b.single(n, s, place); err != nil {
		return err
	}
	return b.named(n, s, place)
}

// single makes those that stand alone behind a keyword.
func (b *builder) single(n *node, s *jsonschema.Schema, place string) error {
	var names, apart []*node
	for _, one := range []struct {
		keyword string
		part    *jsonschema.Schema
		into    *[]*node
	}{
		{"not", s.Not, &n.same}, {"if", s.If, &n.same}, {"then", s.Then, &n.same}, {"else", s.Else, &n.same},
		{"items", s.Items, &n.items}, {"additionalItems", s.AdditionalItems, &n.items},
		{"contains", s.Contains, &n.items}, {"unevaluatedItems", s.UnevaluatedItems, &n.items},
		{"additionalProperties", s.AdditionalProperties, &n.any}, {"unevaluatedProperties", s.UnevaluatedProperties, &n.any},
		{"propertyNames", s.PropertyNames, &names}, {"contentSchema", s.ContentSchema, &apart},
	} {
		if one.part == nil {
			continue
		}
		if err := b.add(one.into, one.part, place+"/"+one.keyword); err != nil {
			return err
		}
	}
	if names != nil {
		n.names = names[0]
	}
	return nil
}

// named makes those that have names.
func (b *builder) named(n *node, s *jsonschema.Schema, place string) error {
	var apart []*node // only references lead there
	for _, group := range []struct {
		keyword string
		parts   map[string]*jsonschema.Schema
		into    *[]*node
	}{
		{"$defs", s.Defs, &apart}, {"definitions", s.Definitions, &apart},
		{"dependentSchemas", s.DependentSchemas, &n.same}, {"dependencies", s.DependencySchemas, &n.same},
		{"patternProperties", s.PatternProperties, &n.any},
	} {
		for name, part := range group.parts {
			if err := b.add(group.into, part, at(place, group.keyword, name)); err != nil {
				return err
			}
		}
	}
	for pattern := range s.PatternProperties {
		steps, err := b.pattern(pattern)
		if err != nil {
			return err
		}
		n.nameSteps += steps
	}
	for name, part := range s.Properties {
		member, err := b.node(part, at(place, "properties", name))
		if err != nil {
			return err
		}
		n.members[name] = member
	}
	return nil
}

func (b *builder) add(into *[]*node, s *jsonschema.Schema, place string) error {
	n, err := b.node(s, place)
	*into = append(*into, n)
	return err
}
