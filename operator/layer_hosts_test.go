package operator_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/hostspec"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// TestAStorageThatTheStackMadeIsMadeAnew: what its Command has printed says whose the definition is. That of another user is not replaced.
func TestAStorageThatTheStackMadeIsMadeAnew(t *testing.T) {
	t.Parallel()
	host := hostWithTokens(t, "11111111-2222-3333-4444-555555555555")
	client, err := host.Client()
	require.NoError(t, err)
	require.NoError(t, client.Post(t.Context(), "/storage", map[string]string{"storage": "bulk", "type": "dir", "path": "/srv/old", "content": "iso"}, nil))
	inventory := &hosts.Inventory{File: hosts.File{
		Name: "site", Hosts: []hosts.Host{{Name: "vmhost"}},
		Storages: []hosts.Storage{{Name: "bulk", Type: "dir", Path: "/srv/new", Content: []hosts.Content{hosts.ContentISO}}},
	}}
	anew := preflight.Check{Name: "storage", Result: preflight.OK, Sentence: "storage bulk is made anew"}
	refused := preflight.Check{Name: "storage", Result: preflight.Fail, Sentence: "the storage bulk is there with other settings (path: /srv/old instead of /srv/new), which Proxmox VE never changes: correct bulk in storages, or choose another name for it"}
	for name, test := range map[string]struct {
		outcome pve.Outcome
		path    string // in the state
		check   preflight.Check
	}{
		"made":                        {pve.OutcomeMade, "/srv/old", anew},
		"adopted":                     {pve.OutcomeAdopted, "/srv/old", refused},
		"made, and by hand made anew": {pve.OutcomeMade, "/srv/new", refused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			triggers := []any{"bulk"}
			for _, fixed := range (hostspec.Storage{Type: "dir", Path: test.path}).Fixed() {
				triggers = append(triggers, fixed.Value)
			}
			report, err := operator.ExamineHosts(t.Context(), inventory, host, apitype.DeploymentV3{Resources: []apitype.ResourceV3{{
				URN: resource.NewURN("site-hosts", "em-infra", "", token.Command, "site-storage-bulk"), Type: token.Command, Custom: true,
				Inputs: map[string]any{"triggers": triggers}, Outputs: map[string]any{"stdout": "storage bulk: " + string(test.outcome)},
			}}})
			require.NoError(t, err)
			require.Contains(t, report, test.check)
		})
	}
}
