package redact

// settle finds the secrets of s[lo:] as it stands, and of what it encodes. With
// final false more text follows; out.hold then says from where on nothing can be
// passed on yet.
func (r *rules) settle(s string, lo int, final bool) outcome {
	out := r.scan(s, lo, final)
	if !hides(s) && (final || cutEscape(s) == len(s)) {
		return out
	}
	if len(s) > maxViewed {
		return outcome{spans: []Span{{lo, len(s), "too-large"}}, hold: len(s)}
	}
	r.look(&out, s, lo, final)
	out.trim()
	return out
}

// trim leaves what is not settled for later.
func (o *outcome) trim() {
	for i, sp := range o.spans {
		if sp.To > o.hold {
			o.hold, o.spans = min(o.hold, sp.From), o.spans[:i]
			return
		}
	}
}

// look adds what the views of a text show.
func (r *rules) look(out *outcome, s string, lo int, final bool) {
	var views []view
	text := s
	for range maxViews {
		if !hides(text) && (final || cutEscape(text) == len(text)) {
			break
		}
		v := decode(text, final)
		views = append(views, v)
		lo, text = v.at(lo), v.text
		seen := r.scan(text, lo, final)
		out.spans = back(out.spans, views, seen.spans)
		if !final {
			out.wait(views, seen)
		}
	}
}

// wait moves the hold of out to that of its innermost view, if that is earlier.
func (o *outcome) wait(views []view, seen outcome) {
	hold, start, from := seen.hold, seen.start, seen.from
	for i := len(views) - 1; i >= 0; i-- {
		v := &views[i]
		if hold == len(v.text) {
			hold = v.end
		} else {
			hold = v.from(hold)
		}
		start, from = v.from(start), v.from(from)
	}
	if hold < o.hold {
		o.hold = hold
	}
	if seen.open != nil && (o.open == nil || start < o.start) {
		o.open, o.start, o.from, o.none = seen.open, start, from, seen.none
	}
}

// back inserts spans of the innermost view where the text has them.
func back(spans []Span, views []view, seen []Span) []Span {
	for _, sp := range seen {
		for i := len(views) - 1; i >= 0; i-- {
			sp.From, sp.To = views[i].from(sp.From), views[i].to(sp.To)
		}
		spans = insertSpan(spans, sp)
	}
	return spans
}

// custom adds what the user's patterns find in s[lo:], and in what it encodes.
func (r *rules) custom(spans []Span, s string, lo int, on *gates) []Span {
	for _, sp := range r.customs.find(r, s, lo, on) {
		spans = insertSpan(spans, sp)
	}
	var views []view
	for len(views) < maxViews && len(s) <= maxViewed && hides(s) {
		v := decode(s, true)
		views = append(views, v)
		lo, s = v.at(lo), v.text
		spans = back(spans, views, r.customs.find(r, s, lo, on))
	}
	return spans
}
