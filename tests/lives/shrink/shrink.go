// Package shrink finds the shortest list that still fails.
package shrink

import "slices"

// List leaves out items for as long as what is left still fails: first large parts, then smaller ones, then single items (delta
// debugging, Zeller and Hildebrandt 2002). It calls fails for no list twice, never for the whole, which is known to fail, and not
// more than tries times; what it has by then is what it returns.
func List[T comparable](whole []T, tries int, fails func(part []T) bool) []T {
	s := shrinker[T]{fails: fails, tries: tries}
	left := slices.Clone(whole)
	for parts := 2; len(left) > 0; {
		shorter, found := s.without(left, parts)
		switch {
		case found:
			left, parts = shorter, max(parts-1, 2)
		case parts >= len(left):
			return left
		default:
			parts = min(2*parts, len(left))
		}
	}
	return left
}

type shrinker[T comparable] struct {
	fails func([]T) bool
	tries int
	tried [][]T
}

// without omits one of so many parts, the first whose absence keeps the list failing.
func (s *shrinker[T]) without(list []T, parts int) ([]T, bool) {
	size := (len(list) + parts - 1) / parts
	for from := 0; from < len(list); from += size {
		rest := slices.Concat(list[:from], list[min(from+size, len(list)):])
		if s.stillFails(rest) {
			return rest, true
		}
	}
	return nil, false
}

func (s *shrinker[T]) stillFails(list []T) bool {
	if s.tries == 0 || slices.ContainsFunc(s.tried, func(t []T) bool { return slices.Equal(t, list) }) {
		return false
	}
	s.tries--
	s.tried = append(s.tried, list)
	return s.fails(list)
}
