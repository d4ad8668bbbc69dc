package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/lives/model"
)

// world returns a world in which worker-1 has a system disk, and is cordoned or not.
func world(disk string, cordoned bool) model.Seen {
	return model.Seen{
		Host:  model.Host{Machines: []model.Machine{{Name: "worker-1", Disks: []model.Disk{{Identity: disk}, {Identity: "data"}}}}},
		Nodes: map[string]model.Node{"worker-1": {Cordoned: cordoned}},
	}
}

// TestACordonGoesWithItsNode: what is expected after an up, for what happened since worker-1 was cordoned.
func TestACordonGoesWithItsNode(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		happens func(c model.Cordons)
		after   model.Seen
		want    model.Cordons
	}{
		"nothing":                            {nil, world("first", true), model.Cordons{"worker-1": {Disk: "first"}}},
		"nothing, and the cordon is gone":    {nil, world("first", false), model.Cordons{"worker-1": {Disk: "first"}}},
		"its machine is replaced":            {nil, world("second", false), model.Cordons{}},
		"it leaves the inventory":            {nil, model.Seen{}, model.Cordons{}},
		"its machine is deleted by hand":     {func(c model.Cordons) { c.MachineDeleted("worker-1") }, world("second", true), model.Cordons{"worker-1": {Disk: "second"}}},
		"another one is deleted by hand":     {func(c model.Cordons) { c.MachineDeleted("worker-2") }, world("first", true), model.Cordons{"worker-1": {Disk: "first"}}},
		"etcd goes back to before":           {func(c model.Cordons) { c.GoBack(model.Cordons{}) }, world("first", false), model.Cordons{}},
		"etcd does not get so far":           {func(c model.Cordons) { c.GoBack(model.Cordons{}) }, world("first", true), model.Cordons{"worker-1": {Disk: "first"}}},
		"etcd goes back to after":            {func(c model.Cordons) { c.GoBack(model.Cordons{"worker-1": {Disk: "first"}}) }, world("first", false), model.Cordons{"worker-1": {Disk: "first"}}},
		"an unsure one goes back once more":  {func(c model.Cordons) { c.GoBack(model.Cordons{}); c.GoBack(model.Cordons{"worker-1": {Disk: "first"}}) }, world("first", false), model.Cordons{}},
		"it is replaced, and etcd goes back": {func(c model.Cordons) { c.GoBack(model.Cordons{"worker-1": {Disk: "first"}}) }, world("second", false), model.Cordons{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := model.Cordons{}
			c.Add("worker-1", world("first", true))
			require.Equal(t, model.Cordons{"worker-1": {Disk: "first"}}, c)
			if test.happens != nil {
				test.happens(c)
			}
			require.Equal(t, test.want, c.After(test.after))
		})
	}
}

// TestTheCordonOfTheOnlyControlPlane is in the snapshot that its next machine begins with.
func TestTheCordonOfTheOnlyControlPlane(t *testing.T) {
	t.Parallel()
	after := func(cordoned bool, others ...string) model.Seen {
		seen := model.Seen{Host: model.Host{Machines: []model.Machine{{Name: "control-1", Disks: []model.Disk{{Identity: "second"}}}}}, Nodes: map[string]model.Node{"control-1": {Cordoned: cordoned}}}
		for _, name := range others {
			seen.Machines = append(seen.Machines, model.Machine{Name: name})
		}
		return seen
	}
	for _, cordoned := range []bool{true, false} {
		c := model.Cordons{"control-1": {Disk: "first"}}
		_, expected := c.After(after(cordoned, "worker-1"))["control-1"]
		require.Equal(t, cordoned, expected)
		require.Empty(t, c.After(after(cordoned, "control-2")))
	}
}

// TestACordonComesBackWithEtcd: a snapshot from before a Node was uncordoned, or its machine replaced.
func TestACordonComesBackWithEtcd(t *testing.T) {
	t.Parallel()
	snapshot := model.Cordons{"worker-1": {Disk: "first"}}
	for _, cordoned := range []bool{true, false} {
		c := model.Cordons{}
		c.GoBack(snapshot)
		require.Equal(t, model.Cordons{"worker-1": {Disk: "first", Unsure: true}}, c)
		_, expected := c.After(world("first", cordoned))["worker-1"]
		require.Equal(t, cordoned, expected)
	}
	require.Equal(t, model.Cordons{"worker-1": {Disk: "first"}}, snapshot, "a snapshot stays as it was taken")
}
