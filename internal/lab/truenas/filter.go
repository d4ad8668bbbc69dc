package truenas

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// queryOptions are the options of a query (api/v25_10_5/common.py, QueryOptions).
var queryOptions = model{
	{"extra", anything, nil}, {"order_by", listOf(text), []any{}}, {"select", listOf(anything), []any{}}, {"count", boolean, false},
	{"get", boolean, false}, {"offset", integer, int64(0)}, {"limit", integer, int64(0)}, {"force_sql_filters", boolean, false},
}

// queryParameters are those of every query.
var queryParameters = model{{"filters", listOf(anything), []any{}}, {"options", queryOptions.object, entry{}}}

// errNoMatch is the error of a query for one object that finds none: an exception without a text, which the box passes on as its repr
// (utils/filter_list.py, do_get).
const errNoMatch = uncaught("MatchNotFound()")

// query returns what the filters and options leave of a list (utils/filter_list.py, filter_list).
func query(list []entry, filters []any, options entry) (any, error) {
	var found []entry
	for _, one := range list {
		matches, err := matchesAll(one, filters)
		if err != nil {
			return nil, err
		}
		if matches {
			found = append(found, one)
		}
	}
	if options["count"] == true {
		return len(found), nil
	}
	order(found, options["order_by"])
	if chosen, _ := options["select"].([]any); len(chosen) > 0 {
		found = selected(found, chosen)
	}
	if options["get"] == true {
		if len(found) == 0 {
			return nil, errNoMatch
		}
		return found[0], nil
	}
	offset, _ := options["offset"].(int64)
	found = found[min(int(offset), len(found)):]
	if limit, _ := options["limit"].(int64); limit > 0 {
		found = found[:min(int(limit), len(found))]
	}
	if found == nil {
		found = []entry{}
	}
	return found, nil
}

func matchesAll(one entry, filters []any) (bool, error) {
	for _, filter := range filters {
		matches, err := matchesOne(one, filter)
		if err != nil || !matches {
			return false, err
		}
	}
	return true, nil
}

// matchesOne compares one object with [name, operator, value], or ["OR", [filters]].
func matchesOne(one entry, filter any) (bool, error) {
	parts, is := filter.([]any)
	if is && len(parts) == 2 && parts[0] == "OR" {
		branches, _ := parts[1].([]any)
		for _, branch := range branches {
			if matches, err := matchesOne(one, branch); err != nil || matches {
				return matches, err
			}
		}
		return false, nil
	}
	if !is || len(parts) != 3 {
		return false, uncaught(fmt.Sprintf("Invalid filter %s", encoded(filter)))
	}
	name, _ := parts[0].(string)
	operator, _ := parts[1].(string)
	value, there := at(one, name)
	compare, known := operators[operator]
	if !known {
		return false, uncaught("Invalid operation: " + operator)
	}
	return there && compare(value, plain(parts[2])), nil
}

// at returns the value at a path with dots.
func at(one entry, path string) (any, bool) {
	var value any = one
	for name := range strings.SplitSeq(path, ".") {
		object, is := value.(map[string]any)
		if !is {
			return nil, false
		}
		if value, is = object[name]; !is {
			return nil, false
		}
	}
	return plain(value), true
}

// plain returns numbers as float64 wherever they come from, so that they can be compared.
func plain(value any) any {
	switch number := value.(type) {
	case json.Number:
		float, err := number.Float64()
		if err != nil {
			return number.String()
		}
		return float
	case int:
		return float64(number)
	case int64:
		return float64(number)
	case []any:
		list := make([]any, len(number))
		for i, one := range number {
			list[i] = plain(one)
		}
		return list
	default:
		return value
	}
}

// operators are those of filters (utils/filter_list.py, opmap).
var operators = map[string]func(value, wanted any) bool{
	"=":    func(v, w any) bool { return reflect.DeepEqual(v, w) },
	"!=":   func(v, w any) bool { return !reflect.DeepEqual(v, w) },
	">":    func(v, w any) bool { return compared(v, w) > 0 },
	">=":   func(v, w any) bool { return compared(v, w) >= 0 },
	"<":    func(v, w any) bool { return compared(v, w) < 0 },
	"<=":   func(v, w any) bool { return compared(v, w) <= 0 },
	"~":    matchesPattern,
	"in":   func(v, w any) bool { return holds(w, v) },
	"nin":  func(v, w any) bool { return !holds(w, v) },
	"rin":  holds,
	"rnin": func(v, w any) bool { return !holds(v, w) },
	"^":    func(v, w any) bool { return strings.HasPrefix(words(v), words(w)) },
	"!^":   func(v, w any) bool { return !strings.HasPrefix(words(v), words(w)) },
	"$":    func(v, w any) bool { return strings.HasSuffix(words(v), words(w)) },
	"!$":   func(v, w any) bool { return !strings.HasSuffix(words(v), words(w)) },
}

func matchesPattern(value, wanted any) bool {
	pattern, err := regexp.Compile("^(?:" + words(wanted) + ")")
	return err == nil && pattern.MatchString(words(value))
}

func holds(list, value any) bool {
	members, _ := list.([]any)
	return slices.ContainsFunc(members, func(one any) bool { return reflect.DeepEqual(one, value) })
}

func compared(a, b any) int {
	first, is := a.(float64)
	second, also := b.(float64)
	if is && also {
		return cmp.Compare(first, second)
	}
	return cmp.Compare(words(a), words(b))
}

func words(value any) string {
	if text, is := value.(string); is {
		return text
	}
	return encoded(value)
}

func encoded(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// order sorts by fields; a hyphen in front of a field reverses its order.
func order(list []entry, by any) {
	fields, _ := by.([]any)
	for _, name := range slices.Backward(fields) {
		path, reverse := strings.CutPrefix(words(name), "-")
		slices.SortStableFunc(list, func(a, b entry) int {
			first, _ := at(a, path)
			second, _ := at(b, path)
			if reverse {
				first, second = second, first
			}
			return compared(first, second)
		})
	}
}

func selected(list []entry, fields []any) []entry {
	chosen := make([]entry, len(list))
	for i, one := range list {
		chosen[i] = entry{}
		for _, name := range fields {
			if value, there := at(one, words(name)); there {
				chosen[i][words(name)] = value
			}
		}
	}
	return chosen
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
