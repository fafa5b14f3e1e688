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

// trim leaves what is not settled for later, from the name or prefix on that led
// to it.
func (o *outcome) trim() {
	for n := len(o.spans); n > 0 && o.spans[n-1].To > o.hold; n = len(o.spans) {
		sp := o.spans[n-1]
		o.hold, o.spans = min(o.hold, sp.From), o.spans[:n-1]
		for _, l := range o.led {
			if sp.From <= l.from && l.from < sp.To {
				o.hold = min(o.hold, l.start)
			}
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
			for _, l := range seen.led {
				out.led = append(out.led, led{through(views, l.start), through(views, l.from)})
			}
		}
	}
}

// wait moves the hold of out to that of its innermost view, if that is earlier.
func (o *outcome) wait(views []view, seen outcome) {
	o.hold = min(o.hold, heldBy(views, seen.hold))
	o.tip = min(o.tip, heldBy(views, seen.tip))
	if start := through(views, seen.start); seen.open != nil && (o.open == nil || start < o.start) {
		o.open, o.start, o.from, o.none = seen.open, start, through(views, seen.from), seen.none
	}
}

// heldBy is where the text has the hold of its innermost view.
func heldBy(views []view, hold int) int {
	for i := len(views) - 1; i >= 0; i-- {
		if v := &views[i]; hold == len(v.text) {
			hold = v.end
		} else {
			hold = v.from(hold)
		}
	}
	return hold
}

// through is where the text has what begins at i in its innermost view.
func through(views []view, i int) int {
	for k := len(views) - 1; k >= 0; k-- {
		i = views[k].from(i)
	}
	return i
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
