package ownership_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/ownership"
)

func TestMark(t *testing.T) {
	t.Parallel()
	owner := ownership.Owner{Stack: "k3s-dev", Cluster: ownership.Short("Bm90IGEgcmVhbCBjbHVzdGVyIElE")}
	require.Len(t, owner.Cluster, 12)
	require.NotEqual(t, owner.Cluster, ownership.Short("another"))
	for _, description := range []string{
		"Talos worker, " + owner.Mark() + ".",
		"Talos worker, " + owner.Mark() + ".\n", // as Proxmox VE gives it back
		"the big one\n\n" + owner.Mark(),
	} {
		found, isMarked := ownership.In(description)
		require.True(t, isMarked, description)
		require.Equal(t, owner, found)
	}
	for _, description := range []string{"", "Talos worker, made by em-infra.", "made by em-infra for stack k3s-dev, cluster 12"} {
		_, isMarked := ownership.In(description)
		require.False(t, isMarked, description)
	}
}

func TestSystemMark(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Made by em-infra for stack site-systems.", ownership.SystemMark("site-systems"))
	for description, stack := range map[string]string{
		ownership.SystemMark("site-systems"):                              "site-systems",
		ownership.SystemMark("site-systems") + "\n":                       "site-systems",
		ownership.SystemMark("site-systems") + "\nMy own text":            "",
		"Not " + ownership.SystemMark("site-systems"):                     "",
		ownership.Owner{Stack: "k3s-dev", Cluster: "0123456789ab"}.Mark(): "",
		"Made by em-infra for stack a, before a change.":                  "",
		"": "",
	} {
		require.Equal(t, stack, ownership.StackOfSystem(description), description)
	}
}
