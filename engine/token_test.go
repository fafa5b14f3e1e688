package engine

import (
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

func seals(t *testing.T, secret Secret) *sealer {
	t.Helper()
	s, err := newSealer(secret)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sampleClaims() claims {
	empty, prompt := []string{}, "be brief"
	return claims{
		Session: newUUID(), Cwd: "/p", Expires: time.Now().Add(time.Hour).UTC().Truncate(time.Second), Turns: 7, CostUSD: 0.25,
		Options: StartParams{
			Cwd: "/p", AllowedTools: []string{"Read"}, Tools: &empty, SystemPrompt: &prompt, MaxTurns: 3,
			Agents: []byte(`{"a":{"description":"d","prompt":"p"}}`), Env: map[string]string{"CI": "1"}, SettingSources: &empty,
		},
	}
}

func TestTokenCarriesItsClaims(t *testing.T) {
	want := sampleClaims()
	token, err := seals(t, " s3cret\n").seal(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := seals(t, "s3cret").open(token)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("claims changed on the way: %+v, want %+v (%v)", got, want, err)
	}
	if again, _ := seals(t, "s3cret").seal(want); again == token {
		t.Error("two tokens of the same claims are equal")
	}
	body, _ := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(token, tokenPrefix))
	if strings.Contains(string(body), "be brief") || strings.Contains(string(body), want.Session) {
		t.Error("the token shows what it seals")
	}
}

func TestTokenIsRefusedWhenAltered(t *testing.T) {
	s := seals(t, "s3cret")
	token, err := s.seal(sampleClaims())
	if err != nil {
		t.Fatal(err)
	}
	refused := map[string]string{
		"empty": "", "prefix only": tokenPrefix, "no prefix": token[len(tokenPrefix):], "other prefix": "gh2." + token[len(tokenPrefix):],
		"cut": token[:len(token)-1], "longer": token + "A", "space": token + " ", "huge": tokenPrefix + strings.Repeat("A", tokenBound),
	}
	for i := range 40 {
		b := []byte(token)
		at := len(tokenPrefix) + rand.IntN(len(b)-len(tokenPrefix))
		b[at] = map[bool]byte{true: 'B', false: 'A'}[b[at] == 'A']
		refused["flip "+string(rune('a'+i))] = string(b)
	}
	for name, altered := range refused {
		if _, err := s.open(altered); !errors.Is(err, errToken) {
			t.Errorf("%s: opened, or another error: %v", name, err)
		}
	}
	if _, err := seals(t, "s3cret2").open(token); !errors.Is(err, errToken) {
		t.Errorf("another secret opened it: %v", err)
	}
}

func TestTokenBounds(t *testing.T) {
	c := sampleClaims()
	noise := make([]byte, tokenBound)
	for i := range noise {
		noise[i] = byte('!' + rand.IntN(90))
	}
	text := string(noise)
	c.Options.SystemPrompt = &text
	if _, err := seals(t, "x").seal(c); !errors.Is(err, errTokenTooLong) {
		t.Errorf("options that do not fit were sealed: %v", err)
	}
	if s := seals(t, "  "); s != nil {
		t.Error("a blank secret made a sealer")
	}
}

func FuzzTokenOpen(f *testing.F) {
	s, err := newSealer("fuzz")
	if err != nil {
		f.Fatal(err)
	}
	good, err := s.seal(sampleClaims())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(tokenPrefix + "AAAA")
	f.Fuzz(func(t *testing.T, token string) {
		if c, err := s.open(token); err == nil && token != good {
			t.Errorf("opened a token nobody sealed: %+v", c)
		}
	})
}
