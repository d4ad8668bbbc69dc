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

// Value is one parameter: a scalar, or several for a list, or something that no method takes.
type Value struct {
	Items []string
	// Ref is how Perl names the value if it is no scalar: "ARRAY", "HASH" or "JSON::PP::Boolean".
	Ref string
}

// undefined reports whether the parameter was named without a value, as in "description=". Perl's split leaves no
// value there, so verification takes it for absent and the method sees a name that holds nothing.
func (v Value) undefined() bool { return len(v.Items) == 0 && v.Ref == "" }

// Scalar is a value of one string.
func Scalar(s string) Value { return Value{Items: []string{s}} }

// Get returns the value of a name, or "" when it is absent.
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

// Int returns the value as a number; verified integers always are.
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

// List returns the entries of a list written in one string, as PVE::Tools::split_list does.
func (p Params) List(name string) []string { return SplitList(p.Get(name)) }

// Names returns the parameters' names, sorted.
func (p Params) Names() []string { return slices.Sorted(maps.Keys(p)) }

// Without returns a copy that lacks the names.
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

// DecodeForm reads a query or a form body as PVE::APIServer::AnyEvent::decode_urlencoded does: pairs end at '&' and
// ';', a repeated name makes a list.
func DecodeForm(raw string) Params {
	params := Params{}

	for pair := range strings.FieldsFuncSeq(raw, func(r rune) bool { return r == '&' || r == ';' }) {
		name, value, _ := strings.Cut(pair, "=")
		// Perl's split at '=' drops whatever follows a second one.
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

// unescape decodes the escapes that are well formed and leaves the rest alone.
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

// DecodeJSON reads a JSON body, which must be an object.
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
