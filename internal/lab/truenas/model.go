package truenas

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// entry is a JSON object of the API, by the names of its fields.
type entry = map[string]any

// kind checks one value and returns it in Go's types: string, int64, bool, []any, entry, nil. Texts of refusals are those of pydantic,
// whose strict mode the middleware uses (api/base/model.py).
type kind func(value any, at string, problems *invalids) any

func text(value any, at string, problems *invalids) any {
	if _, is := value.(string); !is {
		problems.add(at, "Input should be a valid string")
	}
	return value
}

func nonEmpty(value any, at string, problems *invalids) any {
	if value == "" {
		problems.add(at, "String should have at least 1 character")
		return value
	}
	return text(value, at, problems)
}

func integer(value any, at string, problems *invalids) any {
	number, is := value.(json.Number)
	if is {
		if whole, err := strconv.ParseInt(number.String(), 10, 64); err == nil {
			return whole
		}
	}
	problems.add(at, "Input should be a valid integer")
	return int64(0)
}

// atLeast is a number, or one of the values that stand for none.
func atLeast(low int64, none ...any) kind {
	return func(value any, at string, problems *invalids) any {
		if slices.Contains(none, value) {
			return value
		}
		if number, is := value.(json.Number); is && slices.Contains(none, any(number.String())) {
			return int64(0)
		}
		whole := integer(value, at, problems).(int64)
		if whole < low {
			problems.add(at, "Input should be greater than or equal to %d", low)
		}
		return whole
	}
}

func boolean(value any, at string, problems *invalids) any {
	if _, is := value.(bool); !is {
		problems.add(at, "Input should be a valid boolean")
		return false
	}
	return value
}

// anything is a value that is not checked.
func anything(value any, _ string, _ *invalids) any { return value }

// orNull also accepts null.
func orNull(other kind) kind {
	return func(value any, at string, problems *invalids) any {
		if value == nil {
			return nil
		}
		return other(value, at, problems)
	}
}

// oneOf is one of a few texts.
func oneOf(choices ...string) kind {
	quoted := make([]string, len(choices))
	for i, choice := range choices {
		quoted[i] = "'" + choice + "'"
	}
	last := len(quoted) - 1
	rule := strings.Join(quoted, "")
	if last > 0 {
		rule = strings.Join(quoted[:last], ", ") + " or " + quoted[last]
	}
	return func(value any, at string, problems *invalids) any {
		if word, is := value.(string); !is || !slices.Contains(choices, word) {
			problems.add(at, "Input should be %s", rule)
		}
		return value
	}
}

// listOf is a list of values of one kind.
func listOf(each kind) kind {
	return func(value any, at string, problems *invalids) any {
		list, is := value.([]any)
		if !is {
			problems.add(at, "Input should be a valid list")
			return []any{}
		}
		checked := make([]any, len(list))
		for i, one := range list {
			checked[i] = each(one, at+"."+strconv.Itoa(i), problems)
		}
		return checked
	}
}

// field is one field of a model.
type field struct {
	name string
	kind kind
	// missing is the value of a field that is not given: [required] if it has to be given, [unset] if it is then absent.
	missing any
}

// absence is what a missing field means.
type absence int

const (
	// required fields have to be given.
	required absence = iota
	// unset fields are absent in the checked object if they are not given.
	unset
)

// model is the fields of an object. Other fields are refused.
type model []field

// object checks an object: unknown fields, types, and missing fields.
func (m model) object(value any, at string, problems *invalids) any {
	given, is := value.(map[string]any)
	if !is {
		problems.add(at, "Input should be a valid dictionary")
		return entry{}
	}
	checked := entry{}
	for _, f := range m {
		one, there := given[f.name]
		switch {
		case there:
			checked[f.name] = f.kind(one, within(at, f.name), problems)
		case f.missing == required:
			problems.add(within(at, f.name), "Field required")
		case f.missing != unset:
			checked[f.name] = f.missing
		}
	}
	for _, name := range sortedKeys(given) {
		if !slices.ContainsFunc(m, func(f field) bool { return f.name == name }) {
			problems.add(within(at, name), "Extra inputs are not permitted")
		}
	}
	return checked
}

// forUpdate returns the model of an update: no field has to be given, and none has a default (api/base/model.py, ForUpdateMetaclass).
func (m model) forUpdate(without ...string) model {
	var changed model
	for _, f := range m {
		if !slices.Contains(without, f.name) {
			changed = append(changed, field{f.name, f.kind, unset})
		}
	}
	return changed
}

// parameters checks the positional parameters of a call (api/base/handler/accept.py, accept_params).
func (m model) parameters(given []any) ([]any, error) {
	var problems invalids
	if len(given) > len(m) {
		problems.add("", "Too many arguments (expected %d, found %d)", len(m), len(given))
		return nil, problems
	}
	byName := entry{}
	for i, value := range given {
		byName[m[i].name] = value
	}
	checked := m.object(byName, "", &problems).(entry)
	if err := problems.orNil(); err != nil {
		return nil, err
	}
	list := make([]any, len(m))
	for i, f := range m {
		list[i] = checked[f.name]
	}
	return list, nil
}

func within(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

// copyOf returns a deep copy, in the types that a decoder gives: an answer must not change with the state.
func copyOf(value any) any {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("the lab's own value: %v", err)) // made of JSON's types only
	}
	var copied any
	if err := json.Unmarshal(encoded, &copied); err != nil {
		panic(fmt.Sprintf("the lab's own JSON: %v", err))
	}
	return copied
}
