package strictyaml_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// color is text with error messages of its own.
type color string

func (c *color) UnmarshalText(text []byte) error {
	switch string(text) {
	case "red", "green":
		*c = color(text)
		return nil
	case "mauve":
		return errors.New("nobody knows what that looks like")
	}
	return &strictyaml.Fault{What: "is no color", Rule: "red or green", Do: "choose one"}
}

func (c color) MarshalText() ([]byte, error) { return []byte(c), nil }

// raw is a value that is kept as YAML.
type raw struct{ node *yaml.Node }

func (r *raw) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		return errors.New("a scalar is not enough")
	}
	r.node = node
	return nil
}

type inner struct {
	Size int    `yaml:"size" min:"1" max:"9"`
	Name string `yaml:"name"`
}

type document struct {
	Color  color             `yaml:"color" required:"true"`
	Count  int               `yaml:"count" default:"3"`
	Deep   inner             `yaml:"deep" default:"{size: 5, name: five}"`
	Maybe  *inner            `yaml:"maybe"`
	Words  []string          `yaml:"words" default:"[a, b]" max:"3"`
	Table  map[string]inner  `yaml:"table" max:"2"`
	Labels map[string]string `yaml:"labels"`
	Raw    raw               `yaml:"raw"`
	Big    int               `yaml:"big" max:"10"`
	Small  int               `yaml:"small" min:"10"`
	On     bool              `yaml:"on"`
}

// decode reads a document and returns the value and all findings, one in each line.
func decode(t *testing.T, text string) (document, string) {
	t.Helper()
	var value document
	parsed, finding := strictyaml.Parse([]byte(text))
	if finding != nil {
		return value, finding.Path + ": " + finding.String()
	}
	findings, err := parsed.Decode(&value)
	require.NoError(t, err)
	lines := make([]string, len(findings))
	for i, finding := range findings {
		lines[i] = finding.Path + ": " + finding.String()
	}
	return value, strings.Join(lines, "\n")
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	value, wrong := decode(t, "color: red\n")
	require.Empty(t, wrong)
	require.Equal(t, document{Color: "red", Count: 3, Deep: inner{Size: 5, Name: "five"}, Words: []string{"a", "b"}}, value)
}

// The keys of a document are merged over a struct's default, one by one; a list replaces its default.
func TestDefaultsAreMerged(t *testing.T) {
	t.Parallel()
	value, wrong := decode(t, "color: green\ncount: 7\ndeep: {size: 2}\nmaybe: {size: 1}\nwords: []\ntable: {x: {name: y}}\non: true\n")
	require.Empty(t, wrong)
	require.Equal(t, document{
		Color: "green", Count: 7, Deep: inner{Size: 2, Name: "five"}, Maybe: &inner{Size: 1}, Words: []string{},
		Table: map[string]inner{"x": {Name: "y"}}, On: true,
	}, value)
}

func TestFindings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"own words":          {"color: blue", "color: is no color (red or green; got blue): choose one"},
		"error":              {"color: mauve", "color: is not valid (nobody knows what that looks like; got mauve): choose another value"},
		"missing":            {"count: 1", "color: is missing (it has no default): add it"},
		"misspelt":           {"colr: red", "colr: no such key: did you mean color?"},
		"unknown":            {"color: red\nquantity: 1", "quantity: no such key (the keys here are big, color, count, deep, labels, maybe, on, raw, small, table, words): remove it"},
		"in a pointer":       {"color: red\nmaybe: {size: 10}", "maybe.size: is out of range (1 to 9; got 10): choose a number within"},
		"in a table":         {"color: red\ntable: {a.b: {size: x}}", `table["a.b"].size: is not a whole number (got x): write digits only`},
		"too many keys":      {"color: red\ntable: {a: {}, b: {}, c: {}}", "table: has too many keys (at most 2; got 3): remove some"},
		"too many items":     {"color: red\nwords: [a, b, c, d]", "words: has too many items (at most 3; got 4): remove some"},
		"only a maximum":     {"color: red\nbig: 11", "big: is out of range (at most 10; got 11): choose a number within"},
		"only a minimum":     {"color: red\nsmall: 9", "small: is out of range (at least 10; got 9): choose a number within"},
		"no bounds":          {"color: red\ncount: 99999999999999999999", "count: is out of range (a number of 64 bits; got 99999999999999999999): choose a number within"},
		"raw":                {"color: red\nraw: 1", "raw: is not valid (a scalar is not enough): choose another value"},
		"raw, repeated key":  {"color: red\nraw: {a: 1, a: 2}", "raw.a: is given twice (first in line 2): remove one of them"},
		"a document's tag":   {"!!map {color: red}", ": has a tag (a field's type is fixed; got !!map): remove the tag"},
		"binary":             {"color: red\ndeep: {name: !!binary aGk=}", "deep.name: has a tag (a field's type is fixed; got !!binary): remove the tag"},
		"empty text":         {"color: red\ndeep: {name: ''}", "deep.name: is empty: give a value or remove the key"},
		"line breaks in got": {"color: \"bl\\nue\"", `color: is no color (red or green; got "bl\nue"): choose one`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, wrong := decode(t, test.text+"\n")
			require.Equal(t, test.want, wrong)
		})
	}
}

func TestLabelsMayBeEmpty(t *testing.T) {
	t.Parallel()
	value, wrong := decode(t, "color: red\nlabels: {a: ''}\n")
	require.Empty(t, wrong)
	require.Equal(t, map[string]string{"a": ""}, value.Labels)
}

// Aliases are written out in a value that is kept as YAML, so that it stands alone.
func TestRawValuesStandAlone(t *testing.T) {
	t.Parallel()
	value, wrong := decode(t, "color: red\ntable: {x: &x {size: 1}}\nraw: {inside: *x} # comment\n")
	require.Empty(t, wrong)
	text, err := yaml.Marshal(value.Raw.node)
	require.NoError(t, err)
	require.Equal(t, "{inside: {size: 1}}\n", string(text))
}

func TestMistakesInTags(t *testing.T) {
	t.Parallel()
	parsed, finding := strictyaml.Parse([]byte("a: 1\n"))
	require.Nil(t, finding)
	_, err := parsed.Decode(&struct {
		A int `yaml:"a" min:"one"`
	}{})
	require.EqualError(t, err, `tags of struct { A int "yaml:\"a\" min:\"one\"" }: a: strconv.Atoi: parsing "one": invalid syntax`)
	_, err = parsed.Decode(&struct{ A int }{})
	require.EqualError(t, err, "tags of struct { A int }: A has no key")
	_, err = parsed.Decode(&struct {
		A int `yaml:"a" default:"{"`
	}{})
	require.ErrorContains(t, err, "did not find expected node content")
}

func TestPositions(t *testing.T) {
	t.Parallel()
	parsed, finding := strictyaml.Parse([]byte("color: red\ndeep:\n  size: 2\nwords:\n  - a\n  - b\n"))
	require.Nil(t, finding)
	var root *strictyaml.Path
	for _, test := range []struct {
		path         *strictyaml.Path
		line, column int
		given        bool
		members      int
	}{
		{root, 1, 1, true, 3},
		{root.Key("color"), 1, 8, true, 0},
		{root.Key("deep"), 2, 1, true, 1},
		{root.Key("deep").Key("size"), 3, 9, true, 0},
		{root.Key("deep").Key("name"), 2, 1, false, 0},
		{root.Key("words").Index(1), 6, 5, true, 0},
		{root.Key("words").Index(2), 4, 1, false, 0},
		{root.Key("words"), 4, 1, true, 2},
		{root.Key("color").Key("hue"), 1, 1, false, 0},
	} {
		line, column := parsed.Position(test.path)
		require.Equal(t, [2]int{test.line, test.column}, [2]int{line, column}, test.path.String())
		require.Equal(t, test.given, parsed.Has(test.path), test.path.String())
		require.Equal(t, test.members, parsed.Len(test.path), test.path.String())
	}
	var nothing *strictyaml.Document
	require.False(t, nothing.Has(root))
	require.Zero(t, nothing.Len(root))
}

func TestNearest(t *testing.T) {
	t.Parallel()
	words := []string{"gateway", "gateway6", "vlan", "memoryMiB", "mtu", "nocloud"}
	for word, want := range map[string]string{
		"gatway": "gateway", "GATEWAY": "gateway", "memorymib": "memoryMiB", "gateway7": "gateway", "vlna": "", "mtuu": "mtu", "x": "",
		"mac": "", "": "", "vlans": "vlan", "address": "",
	} {
		require.Equal(t, want, strictyaml.Nearest(word, words), word)
	}
}

func TestShown(t *testing.T) {
	t.Parallel()
	require.Equal(t, "plain", strictyaml.Shown("plain"))
	require.Equal(t, `""`, strictyaml.Shown(""))
	require.Equal(t, `"two words"`, strictyaml.Shown("two words"))
	require.Equal(t, `"\x1b[31m"`, strictyaml.Shown("\x1b[31m"))
	require.Equal(t, strings.Repeat("ä", 60)+"…", strictyaml.Shown(strings.Repeat("ä", 61)))
}

func TestEncode(t *testing.T) {
	t.Parallel()
	value, wrong := decode(t, "color: red\ntable: {b: {size: 1}, a: {name: 'true'}}\n")
	require.Empty(t, wrong)
	type printed struct {
		Color color            `yaml:"color"`
		Deep  inner            `yaml:"deep"`
		Table map[string]inner `yaml:"table"`
		Words []string         `yaml:"words"`
		On    bool             `yaml:"on"`
	}
	text, err := strictyaml.Encode(printed{Color: value.Color, Deep: value.Deep, Table: value.Table, Words: value.Words},
		func(at *strictyaml.Path) string {
			if at.String() == "words" || at.String() == "deep.size" {
				return "remark"
			}
			return ""
		})
	require.NoError(t, err)
	require.Equal(t, `color: red
deep:
  size: 5 # remark
  name: five
table:
  a:
    name: "true"
  b:
    size: 1
words: [a, b] # remark
on: false
`, string(text))
}

func TestEncodeUnknownType(t *testing.T) {
	t.Parallel()
	_, err := strictyaml.Encode(struct {
		A float64 `yaml:"a"`
	}{A: 1}, func(*strictyaml.Path) string { return "" })
	require.EqualError(t, err, "encode a: no YAML for float64")
}
