// Package retention is the rule by which old copies are deleted: the newest of each kind stay, so that frequent kinds do not
// displace rare ones.
package retention

// Default is how many of each kind stay.
const Default = 20

// Excess returns those that go, in their order. newestFirst are all that there are; keep is how many of each kind stay, 0 for
// [Default].
func Excess[T any](newestFirst []T, kind func(T) string, keep int) []T {
	if keep == 0 {
		keep = Default
	}
	var excess []T
	stay := map[string]int{}
	for _, one := range newestFirst {
		of := kind(one)
		if stay[of] == keep {
			excess = append(excess, one)
			continue
		}
		stay[of]++
	}
	return excess
}
