package fault_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/fault"
)

var kinds = []fault.Kind{
	{Name: "forbidden", About: "a privilege is missing", Source: "F13", Calls: true},
	{Name: "clone-fails", About: "a clone breaks off", Source: "F18"},
	{Name: "host-reboots", About: "the power is cut", Source: "F35", Once: true, Calls: true},
}

func newSet(seed byte, faults ...fault.Fault) (*fault.Set, error) {
	set := fault.NewSet([32]byte{seed}, kinds)
	for _, f := range faults {
		if err := set.Set(f); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// occurs returns one letter for each occasion: x where a fault occurred.
func occurs(set *fault.Set, times int, o fault.Occasion) string {
	var seen strings.Builder
	for range times {
		letter := "."
		if set.Trigger(o, func(string) bool { return true }) != "" {
			letter = "x"
		}
		seen.WriteString(letter)
	}
	return seen.String()
}

func TestWhenAFaultOccurs(t *testing.T) {
	t.Parallel()
	config := fault.Occasion{Node: "vmhost", VMIDs: []int{101}, Endpoint: "/nodes/{node}/qemu/{vmid}/config"}
	clone := fault.Occasion{Node: "vmhost", VMIDs: []int{9000, 101}, Endpoint: "/nodes/{node}/qemu/{vmid}/clone"}
	tests := map[string]struct {
		fault    fault.Fault
		occasion fault.Occasion
		expected string
	}{
		"always":               {fault.Fault{Name: "forbidden"}, config, "xxxxxx"},
		"the second":           {fault.Fault{Name: "forbidden", Nth: 2}, config, ".x...."},
		"two from the second":  {fault.Fault{Name: "forbidden", Nth: 2, Times: 2}, config, ".xx..."},
		"twice":                {fault.Fault{Name: "forbidden", Times: 2}, config, "xx...."},
		"once by its nature":   {fault.Fault{Name: "host-reboots"}, config, "x....."},
		"more often than that": {fault.Fault{Name: "host-reboots", Times: 2}, config, "xx...."},
		"this VM":              {fault.Fault{Name: "forbidden", VMID: 101}, config, "xxxxxx"},
		"a VM to be":           {fault.Fault{Name: "forbidden", VMID: 101}, clone, "xxxxxx"},
		"another VM":           {fault.Fault{Name: "forbidden", VMID: 999}, clone, "......"},
		"this host":            {fault.Fault{Name: "forbidden", Node: "vmhost"}, config, "xxxxxx"},
		"another host":         {fault.Fault{Name: "forbidden", Node: "vmhost2"}, config, "......"},
		"this endpoint":        {fault.Fault{Name: "forbidden", Endpoint: config.Endpoint}, config, "xxxxxx"},
		"another endpoint":     {fault.Fault{Name: "forbidden", Endpoint: "/nodes"}, config, "......"},
		"half, by seed":        {fault.Fault{Name: "forbidden", Probability: 0.5}, config, ".x...x"},
		"half, from the third": {fault.Fault{Name: "forbidden", Probability: 0.5, Nth: 3}, config, ".....x"},
		"all, by chance":       {fault.Fault{Name: "forbidden", Probability: 1}, config, "xxxxxx"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, err := newSet(1, test.fault)
			require.NoError(t, err)
			require.Equal(t, test.expected, occurs(set, 6, test.occasion))
		})
	}
}

// TestChanceIsTheSeeds checks that the same seed selects the same occasions, regardless of what happens in between, and
// that another seed selects others.
func TestChanceIsTheSeeds(t *testing.T) {
	t.Parallel()
	half := fault.Fault{Name: "forbidden", Probability: 0.5}
	run := func(seed byte, disturb func(*fault.Set)) string {
		set, err := newSet(seed, half)
		require.NoError(t, err)
		var all string
		for range 40 {
			all += occurs(set, 1, fault.Occasion{})
			disturb(set)
		}
		return all
	}
	quiet := run(7, func(*fault.Set) {})
	require.Equal(t, quiet, run(7, func(*fault.Set) {}))
	require.NotEqual(t, quiet, run(8, func(*fault.Set) {}))
	require.Equal(t, quiet, run(7, func(set *fault.Set) {
		require.NoError(t, set.Set(fault.Fault{Name: "clone-fails", Probability: 0.5, VMID: 1}))
		set.Trigger(fault.Occasion{VMIDs: []int{1}}, func(name string) bool { return name == "clone-fails" })
	}))
}

// TestTwoFaultsOnOneOccasion checks that the first fault that was set occurs, and that both count.
func TestTwoFaultsOnOneOccasion(t *testing.T) {
	t.Parallel()
	set, err := newSet(0, fault.Fault{Name: "forbidden", Times: 1}, fault.Fault{Name: "clone-fails", Nth: 2})
	require.NoError(t, err)
	all := func(string) bool { return true }
	require.Equal(t, "forbidden", set.Trigger(fault.Occasion{}, all))
	require.Equal(t, "clone-fails", set.Trigger(fault.Occasion{}, all))
	require.Empty(t, set.Trigger(fault.Occasion{}, all))
	require.Equal(t, []fault.State{
		{Fault: fault.Fault{Name: "forbidden", Times: 1}, Seen: 3, Occurred: 1},
		{Fault: fault.Fault{Name: "clone-fails", Nth: 2, Times: 1}, Seen: 3, Occurred: 1},
	}, set.List())
}

func TestClearing(t *testing.T) {
	t.Parallel()
	set, err := newSet(0, fault.Fault{Name: "forbidden"}, fault.Fault{Name: "clone-fails"}, fault.Fault{Name: "forbidden", VMID: 1})
	require.NoError(t, err)
	for _, step := range []struct {
		name    string
		cleared int
	}{{"host-reboots", 0}, {"forbidden", 2}, {"", 1}, {"", 0}} {
		cleared, err := set.Clear(step.name)
		require.NoError(t, err)
		require.Equal(t, step.cleared, cleared, step.name)
	}
	require.Empty(t, set.List())
	_, err = set.Clear("forbiden")
	require.EqualError(t, err, `fault: there is no "forbiden": did you mean forbidden?`)
}

func TestFaultsThatAreNone(t *testing.T) {
	t.Parallel()
	for text, wrong := range map[string]fault.Fault{
		`fault: there is no "clone-fail": did you mean clone-fails?`:                              {Name: "clone-fail"},
		"fault: there is no \"meteorite\": `em-infra lab fault list` shows those there are":       {Name: "meteorite"},
		"fault: probability 2 is out of range: choose one above 0, up to 1":                       {Name: "forbidden", Probability: 2},
		"fault: probability -0.1 is out of range: choose one above 0, up to 1":                    {Name: "forbidden", Probability: -0.1},
		"fault: occasion -1 was never: count from 1":                                              {Name: "forbidden", Nth: -1},
		"fault: -1 times is no number of times: choose 1 or more, or 0 for all":                   {Name: "forbidden", Times: -1},
		"fault: clone-fails occurs in the work behind a call, not at one: leave the endpoint out": {Name: "clone-fails", Endpoint: "/nodes"},
	} {
		_, err := newSet(0, wrong)
		require.ErrorIs(t, err, fault.ErrFault)
		require.EqualError(t, err, text)
	}
}

func TestClearedTellsWhoWaits(t *testing.T) {
	t.Parallel()
	set, err := newSet(1, fault.Fault{Name: "forbidden"}, fault.Fault{Name: "clone-fails"})
	require.NoError(t, err)
	<-set.Cleared("host-reboots") // not set
	cleared, again := set.Cleared("clone-fails"), set.Cleared("clone-fails")

	_, err = set.Clear("forbidden")
	require.NoError(t, err)
	select {
	case <-cleared:
		t.Fatal("the other fault was cleared")
	default:
	}
	_, err = set.Clear("")
	require.NoError(t, err)
	<-cleared
	<-again
	<-set.Cleared("clone-fails")
}
