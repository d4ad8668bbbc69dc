package e2e_test

import (
	"maps"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/labstack"
)

// isNotBegunWithoutConsent runs `site up` without a terminal. It is refused, because consent cannot be asked for, but it makes the stacks share a
// lab. Then that lab is started. It returns what the hosts have.
func (s *siteUnderTest) isNotBegunWithoutConsent() map[string][]string {
	s.t.Helper()
	refused := s.site(3, "up", "--lab")
	require.Contains(s.t, refused, "consent cannot be asked for without a terminal")
	require.Contains(s.t, refused, "not begun")
	s.outsideOfStacks("lab", "start", "--stack", s.rehearsal.stack, "--time-scale", "0")
	require.Empty(s.t, labstack.Writes(s.calls()))
	return s.onHosts()
}

// hasNothingToDo: a second run writes nothing, and the plain engine of each stack finds nothing to do.
func (s *siteUnderTest) hasNothingToDo(stacks ...string) {
	s.t.Helper()
	seen := len(s.calls())
	s.site(0, "up", "--lab", "--yes")
	require.Empty(s.t, labstack.Writes(s.calls()[seen:]))
	for _, name := range stacks {
		plain := s.stack(name).plainEngine()
		preview, err := plain.Preview(s.t.Context(), optpreview.Refresh())
		require.NoError(s.t, err, name)
		require.Equal(s.t, []apitype.OpType{apitype.OpSame}, slices.Collect(maps.Keys(preview.ChangeSummary)), "%s: %s", name, preview.StdOut)
	}
}

// onHosts returns the names of all that stacks can make on the hosts, by kind. Files that were downloaded are left out, since a
// destroy leaves them for the machines of others, and so are settings that a host always has, such as its time zone.
func (s *siteUnderTest) onHosts() map[string][]string {
	s.t.Helper()
	found := map[string][]string{
		"guests": s.guests(), "pools": s.pools(), "storages": slices.Sorted(maps.Keys(s.storages())), "pci": s.mappings("pci"), "usb": s.mappings("usb"),
		"users": s.users(), "backup jobs": s.definitions("backup"),
	}
	nodes, err := s.api().Nodes(s.t.Context())
	require.NoError(s.t, err)
	for _, node := range nodes {
		found["network of "+node.Node] = s.named("/nodes/"+node.Node+"/network", "iface")
		found["files of "+node.Node] = s.filesOf(node.Node)
		var hosts struct{ Data string }
		require.NoError(s.t, s.api().Get(s.t.Context(), "/nodes/"+node.Node+"/hosts", &hosts))
		found["names of "+node.Node] = strings.Split(hosts.Data, "\n")
	}
	return found
}

// named returns a member of each of the rows of an answer, sorted.
func (s *siteUnderTest) named(path, member string) []string {
	s.t.Helper()
	var rows []map[string]any
	require.NoError(s.t, s.api().Get(s.t.Context(), path, &rows), path)
	names := make([]string, len(rows))
	for i, row := range rows {
		names[i], _ = row[member].(string)
		require.NotEmpty(s.t, names[i])
	}
	slices.Sort(names)
	return names
}

// filesOf returns the volumes on all storages of a host, without ISOs and the archives that containers are made from.
func (s *siteUnderTest) filesOf(node string) []string {
	s.t.Helper()
	var volumes []string
	for _, storage := range s.named("/nodes/"+node+"/storage", "storage") {
		for _, volume := range s.named("/nodes/"+node+"/storage/"+storage+"/content", "volid") {
			if !strings.Contains(volume, ":iso/") && !strings.Contains(volume, ":vztmpl/") {
				volumes = append(volumes, volume)
			}
		}
	}
	return volumes
}

// hasItsNAS: preflight finds all that a cluster has on the NAS, and the cluster what its CSI driver reads.
func (s *storageUnderTest) hasItsNAS() {
	s.t.Helper()
	preflight := s.mustRun(0, "preflight", "--lab")
	require.Contains(s.t, preflight, "ok    2 datasets: 0 to create, 2 ours\n")
	require.Contains(s.t, preflight, "ok    the iSCSI targets of TrueNAS begin with iqn.2005-10.org.freenas.ctl\n")
	s.hasWhatTheDriverReads()
	s.opensTheBox(s.apiKey())
}

// leftOnlyData: after a destroy the datasets and the share are still on the NAS, since they are protected, and the driver's account is not.
func (s *storageUnderTest) leftOnlyData() {
	s.t.Helper()
	require.NotNil(s.t, s.dataset("tank/k8s"))
	require.NotNil(s.t, s.dataset("tank/k8s/nfs"))
	require.NotNil(s.t, s.share())
	s.hasNoAccount()
}
