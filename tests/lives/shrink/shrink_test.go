package shrink_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/lives/shrink"
)

func upTo(n int) []int {
	var list []int
	for i := range n {
		list = append(list, i)
	}
	return list
}

// needs fails for lists that have all of these.
func needs(all ...int) func([]int) bool {
	return func(list []int) bool {
		return !slices.ContainsFunc(all, func(n int) bool { return !slices.Contains(list, n) })
	}
}

func TestShrinksToWhatIsNeeded(t *testing.T) {
	t.Parallel()
	for _, needed := range [][]int{{0}, {7}, {3, 4}, {0, 7}, {1, 3, 5, 7}, upTo(8), {}} {
		require.Equal(t, needed, append([]int{}, shrink.List(upTo(8), 1000, needs(needed...))...), "%v", needed)
	}
}

// TestShrinksAnyList: for any set of required items, no further item can be omitted, and the order stays.
func TestShrinksAnyList(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		whole := upTo(1 + random.IntN(20))
		needed := slices.DeleteFunc(slices.Clone(whole), func(int) bool { return random.IntN(3) > 0 })
		require.Equal(t, append([]int{}, needed...), append([]int{}, shrink.List(whole, 10000, needs(needed...))...))
	}
}

func TestTriesAreBounded(t *testing.T) {
	t.Parallel()
	tries, seen := 0, map[string]bool{}
	left := shrink.List(upTo(64), 5, func(list []int) bool {
		tries++
		key := fmt.Sprint(list)
		require.False(t, seen[key], "no list is tried twice")
		seen[key] = true
		return needs(5, 50)(list)
	})
	require.Equal(t, 5, tries)
	require.True(t, needs(5, 50)(left), "what is left fails")
	require.Equal(t, upTo(3), shrink.List(upTo(3), 0, needs()))
}
