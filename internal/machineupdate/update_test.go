package machineupdate_test

import (
	"maps"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/machineupdate"
)

func TestReboots(t *testing.T) {
	t.Parallel()
	disk := func(size float64) map[string]any { return map[string]any{"size": size, "datastoreId": "tank"} }
	for _, test := range []struct {
		name    string
		changes map[string]any
		reboots bool
	}{
		{"nothing", nil, false},
		{"memory", map[string]any{"memory": map[string]any{"dedicated": 16384.0}}, true},
		{"a note of the bridge", map[string]any{"__defaults": []any{"bios"}}, false},
		{"tags", map[string]any{"tags": []any{"talos", "extra"}}, false},
		{"blocks in which nothing is", map[string]any{"serialDevices": []any{map[string]any{"__defaults": []any{}}}, "watchdog": map[string]any{}}, false},
		{"tags and memory", map[string]any{"tags": []any{"talos"}, "memory": map[string]any{"dedicated": 4096.0}}, true},
		{"growth of a disk", map[string]any{"disks": []any{disk(80)}}, false},
		{"a data disk more", map[string]any{"disks": []any{disk(64), disk(20)}}, false},
		{"another storage", map[string]any{"disks": []any{map[string]any{"size": 64.0, "datastoreId": "ssd"}}}, true},
		{"another host", map[string]any{"nodeName": "other"}, false},
		{"start at boot", map[string]any{"onBoot": false}, false},
		{"the CPU of its host", map[string]any{"cpu": map[string]any{"type": "host"}}, true},
		{"a GPU", map[string]any{"hostpcis": []any{map[string]any{"mapping": "rtx3090"}}}, true},
		{"how long the provider waits", map[string]any{"timeoutMoveDisk": 1800.0, "stopOnDestroy": true}, false},
		{"what is in the CD-ROM drive", map[string]any{"cdrom": map[string]any{"fileId": "none"}}, false},
		{"what no row names", map[string]any{"bios": "seabios"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			before := map[string]any{"disks": []any{disk(64)}, "tags": []any{"talos"}, "onBoot": true}
			after := maps.Clone(before)
			maps.Copy(after, test.changes)
			require.Equal(t, test.reboots, machineupdate.Reboots(resource.NewPropertyMapFromMap(before), resource.NewPropertyMapFromMap(after)))
		})
	}
}

func TestIsNote(t *testing.T) {
	t.Parallel()
	before := map[string]any{"description": "a", "tags": []any{"talos"}, "memory": map[string]any{"dedicated": 4096.0}, "disks": []any{map[string]any{}}}
	for _, test := range []struct {
		name   string
		after  map[string]any
		isNote bool
	}{
		{"nothing", map[string]any{"description": "a", "tags": []any{"talos"}, "memory": map[string]any{"dedicated": 4096.0}}, false},
		{"the description", map[string]any{"description": "b", "tags": []any{"talos"}, "memory": map[string]any{"dedicated": 4096.0}}, true},
		{"a tag more", map[string]any{"description": "b", "tags": []any{"talos", "x"}, "memory": map[string]any{"dedicated": 4096.0}}, true},
		{"an empty block beside it", map[string]any{"description": "b", "tags": []any{"talos"}, "memory": map[string]any{"dedicated": 4096.0}, "serialDevices": []any{map[string]any{}}}, true},
		{"limits of a disk that the provider fills in", map[string]any{"description": "b", "tags": []any{"talos"}, "memory": map[string]any{"dedicated": 4096.0}, "disks": []any{map[string]any{"speed": map[string]any{"read": 0.0}}}}, true},
		{"memory, too", map[string]any{"description": "b", "tags": []any{"talos"}, "memory": map[string]any{"dedicated": 8192.0}}, false},
	} {
		require.Equal(t, test.isNote, machineupdate.IsNote(resource.NewPropertyMapFromMap(before), resource.NewPropertyMapFromMap(test.after)), test.name)
	}
}

func TestSwitchesOn(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name          string
		before, after any
		switchesOn    bool
	}{
		{"it is off", false, true, true},
		{"it runs", true, true, false},
		{"it stays off", false, false, false},
		{"it is switched off", true, false, false},
		{"nobody knows", nil, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			inputs := func(started any) map[string]any { return map[string]any{"started": started} }
			require.Equal(t, test.switchesOn, machineupdate.SwitchesOn(inputs(test.before), inputs(test.after)))
		})
	}
}
