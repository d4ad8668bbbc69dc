package pve_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
)

// TestSizesOfARoot covers sizes as format_size of Proxmox VE writes them, and as a person may have made them.
func TestSizesOfARoot(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		size string
		want int
	}{
		{"8G", 8},
		{"1023G", 1023},
		{"1T", 1024},
		{"1025G", 1025},
		{"8T", 8192},
		{"4096M", 4},
		{"8704M", 0},
		{"4194304K", 0},
		{"99999999999999999999T", 0},
	} {
		t.Run(test.size, func(t *testing.T) {
			t.Parallel()
			setting := "tank:subvol-200-disk-0,size=" + test.size
			got, err := pve.RootGiB(setting)
			if test.want == 0 {
				require.EqualError(t, err, fmt.Sprintf("the size of the root %q is not in GiB: grow it with `pct resize` to whole GiB, then run up again", setting))
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}
