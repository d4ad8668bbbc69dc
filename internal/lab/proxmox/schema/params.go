package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Params are the parameters of a request by name. A name occurs once; its value may be a list.
type Params map[string]Value

// Value is a parameter: a scalar, a list, or a value that no method accepts.
type Value struct {
	Items []string
	// Ref is Perl's name of the type if the value is not a scalar: "ARRAY", "HASH" or "JSON::PP::Boolean".
	Ref string
}

// undefined reports whether the parameter has a name but no value, as in "description=". Perl's split yields no value then:
// verification treats it as absent, and the method sees an empty name.
func (v Value) undefined() bool { return len(v.Items) == 0 && v.Ref == "" }

// Scalar returns a value with one string.
func Scalar(s string) Value { return Value{Items: []string{s}} }

// Get returns the value of a name, or "" if it is absent.
func (p Params) Get(name string) string {
	if v, ok := p[name]; ok && len(v.Items) > 0 {
		return v.Items[0]
	}

	return ""
}

// Has reports whether the parameter was given.
func (p Params) Has(name string) bool {
	_, ok := p[name]
	return ok
}

// All returns every item of a list parameter.
func (p Params) All(name string) []string { return p[name].Items }

// Int returns the value as a number, or otherwise if it is not one. A verified integer always is.
func (p Params) Int(name string, otherwise int) int {
	n, err := strconv.Atoi(p.Get(name))
	if err != nil {
		return otherwise
	}

	return n
}

// Bool returns the value of a flag.
func (p Params) Bool(name string, otherwise bool) bool {
	if !p.Has(name) {
		return otherwise
	}

	return p.Get(name) == "1"
}

// List returns the entries of a list in one string, as PVE::Tools::split_list does.
func (p Params) List(name string) []string { return SplitList(p.Get(name)) }

// Names returns the parameters' names, sorted.
func (p Params) Names() []string { return slices.Sorted(maps.Keys(p)) }

// Without returns a copy without the names.
func (p Params) Without(names ...string) Params {
	rest := maps.Clone(p)
	for _, name := range names {
		delete(rest, name)
	}

	return rest
}

// SplitList splits at commas, semicolons, NUL and white space (PVE::Tools::split_list).
func SplitList(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(",; \t\n\r\x00", r) })
}

// DecodeForm decodes a query or a form body as PVE::APIServer::AnyEvent::decode_urlencoded does: '&' and ';' end a pair, and
// a repeated name makes a list.
func DecodeForm(raw string) Params {
	params := Params{}

	for pair := range strings.FieldsFuncSeq(raw, func(r rune) bool { return r == '&' || r == ';' }) {
		name, value, _ := strings.Cut(pair, "=")
		// Perl's split at '=' drops everything after a second one.
		value, _, _ = strings.Cut(value, "=")
		name = unescape(name)

		v := params[name]
		if value != "" {
			v.Items = append(v.Items, unescape(value))
		}

		if len(v.Items) > 1 {
			v.Ref = "ARRAY"
		}

		params[name] = v
	}

	return params
}

// unescape decodes valid escapes and leaves the rest unchanged.
func unescape(s string) string {
	s = strings.ReplaceAll(s, "+", " ")

	var out strings.Builder

	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if b, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				out.WriteByte(byte(b))
				i += 2

				continue
			}
		}

		out.WriteByte(s[i])
	}

	return strings.ToValidUTF8(out.String(), "\uFFFD")
}

// DecodeJSON decodes a JSON body, which must be an object.
func DecodeJSON(raw []byte) (Params, error) {
	var fields map[string]json.RawMessage

	decoder := json.NewDecoder(bytes.NewReader(raw))
	if err := decoder.Decode(&fields); err != nil {
		return nil, fmt.Errorf("malformed JSON body: %w", err)
	}

	params := Params{}

	for name, field := range fields {
		if v, ok := jsonValue(field); ok {
			params[name] = v
		}
	}

	return params, nil
}

func jsonValue(raw json.RawMessage) (Value, bool) {
	switch text := string(raw); {
	case text == "null":
		return Value{}, false
	case text == "true":
		return Value{Items: []string{"1"}, Ref: "JSON::PP::Boolean"}, true
	case text == "false":
		return Value{Items: []string{"0"}, Ref: "JSON::PP::Boolean"}, true
	case raw[0] == '{':
		return Value{Ref: "HASH"}, true
	case raw[0] == '[':
		return jsonList(raw), true
	case raw[0] == '"':
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return Value{Ref: "HASH"}, true
		}

		return Scalar(s), true
	default:
		return Scalar(text), true
	}
}

func jsonList(raw json.RawMessage) Value {
	var elements []json.RawMessage
	if err := json.Unmarshal(raw, &elements); err != nil {
		return Value{Ref: "HASH"}
	}

	list := Value{Ref: "ARRAY"}

	for _, element := range elements {
		if v, ok := jsonValue(element); ok && len(v.Items) == 1 {
			list.Items = append(list.Items, v.Items[0])
		}
	}

	return list
}
