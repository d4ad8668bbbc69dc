package risk_test

import (
	"slices"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/risk"
)

// TestAVolumeIsNotRenamed: its configuration alone changes, which would be applied in place.
func TestAVolumeIsNotRenamed(t *testing.T) {
	t.Parallel()
	seen := risk.Seen{Renamed: []risk.RenamedVolume{{Node: "w-1", Key: "dataDisks[0].mount", Has: "data", Wanted: "models"}}}
	const means = "          for a disk of that name, append one and move the data, or remove the node, run up, and add it again with empty disks\n"
	for name, test := range map[string]struct {
		events       []event
		text, refuse string
	}{
		"nothing else changes": {
			same("w-1", "worker", 111),
			" CANNOT   w-1  dataDisks[0].mount data → models cannot change: the disk keeps the volume that was made on it\n" + means,
			"refused: set dataDisks[0].mount back to data for w-1",
		},
		"its disk grows, too": {
			node("w-1", "worker", 111, apitype.OpUpdate, map[string]any{"disks": []any{map[string]any{"size": 80.0}}}, "disks[0].size"),
			" CANNOT   w-1  disk 64 → 80 GiB; dataDisks[0].mount data → models cannot change: the disk keeps the volume that was made on it\n" +
				"          Talos uses the room from the node's next boot on: `em-infra reboot w-1` brings it about\n" + means,
			"refused: set dataDisks[0].mount back to data for w-1",
		},
		"its machine is made anew": {
			slices.Concat(node("w-1", "worker", 111, apitype.OpCreate, nil)), " CREATE   w-1  VM 111 on vmhost, 192.168.20.21\n", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assessment := assessWith(seen, test.events...)
			require.Equal(t, test.text, written(t, assessment))
			require.Equal(t, test.refuse != "", assessment.Impossible())
			if test.refuse != "" {
				require.Equal(t, test.refuse, assessment.Refusal(nil))
			}
		})
	}
}
