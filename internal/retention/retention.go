// Package retention names copies by their time and kind, and decides which old ones are deleted: the newest of each kind stay, so
// that frequent kinds do not displace rare ones.
package retention

// Default is the number of copies of each kind that stay.
const Default = 20

// Excess returns the copies to delete, in their order. keep is the number of copies of each kind that stay; 0 means [Default].
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
