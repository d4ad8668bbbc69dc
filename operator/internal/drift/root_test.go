package drift_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/drift"
)

// TestRootOfAContainer: a root that is smaller than it was made is grown again, and so is that of a container that was deleted on the host.
func TestRootOfAContainer(t *testing.T) {
	t.Parallel()
	const grow = "em-infra container grow vmhost 211 "
	for name, test := range map[string]struct {
		create     any
		exists     bool
		root       string
		have       map[string]any
		difference drift.Difference
		err        string
	}{
		"as it was made": {create: grow + "8", exists: true, root: "local-lvm:vm-211-disk-0,size=8G"},
		"grown by hand":  {create: grow + "8", exists: true, root: "local-lvm:vm-211-disk-0,size=12G"},
		"made anew":      {create: grow + "8", exists: true, root: "local-lvm:vm-211-disk-0,size=4G", have: map[string]any{"create": grow + "4"}, difference: drift.Difference{Property: "disk", Want: "8 GiB", Have: "4 GiB"}},
		"gone":           {create: grow + "8", have: map[string]any{"create": nil}},
		"noted before":   {create: nil, exists: true, root: "local-lvm:vm-211-disk-0,size=4G"},
		"of another unit, by hand": {create: grow + "8", exists: true, root: "local-lvm:vm-211-disk-0,size=4608M",
			err: "the size of the root \"local-lvm:vm-211-disk-0,size=4608M\" is not in GiB: grow it with `pct resize` to whole GiB, then run up again"},
	} {
		have, difference, err := drift.Root(map[string]any{"create": test.create}, test.exists, pve.GuestConfig{"rootfs": test.root})
		if test.err != "" {
			require.EqualError(t, err, test.err, name)
		} else {
			require.NoError(t, err, name)
		}
		require.Equal(t, test.have, have, name)
		require.Equal(t, test.difference, difference, name)
	}
}
