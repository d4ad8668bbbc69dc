// Package difference compares plain values, limited to what a program's inputs contain.
package difference

// Prune returns the part of a value that the shape has, too. This removes what a server has filled in.
func Prune(value, shape any) any {
	switch value := value.(type) {
	case map[string]any:
		shape, ok := shape.(map[string]any)
		if !ok {
			return value
		}
		pruned := map[string]any{}
		for name, element := range value {
			if of, ok := shape[name]; ok {
				pruned[name] = Prune(element, of)
			}
		}
		return pruned
	case []any:
		shape, ok := shape.([]any)
		if !ok {
			return value
		}
		pruned := []any{}
		for i := range min(len(value), len(shape)) {
			pruned = append(pruned, Prune(value[i], shape[i]))
		}
		return pruned
	default:
		return value
	}
}

// Union returns a shape with everything that either shape has.
func Union(one, other any) any {
	switch one := one.(type) {
	case map[string]any:
		other, ok := other.(map[string]any)
		if !ok {
			return one
		}
		union := make(map[string]any, len(one))
		for name, element := range other {
			union[name] = element
		}
		for name, element := range one {
			if also, ok := other[name]; ok {
				element = Union(element, also)
			}
			union[name] = element
		}
		return union
	case []any:
		other, ok := other.([]any)
		if !ok {
			return one
		}
		union := append([]any(nil), one...)
		for i, element := range other {
			if i < len(union) {
				union[i] = Union(union[i], element)
			} else {
				union = append(union, element)
			}
		}
		return union
	default:
		return other
	}
}
