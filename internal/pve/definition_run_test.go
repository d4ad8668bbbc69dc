package pve_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

func graphs() hostspec.Definition {
	return hostspec.Definition{
		Kind: hostspec.MetricServer, ID: "graphs", Fixed: []hostspec.Setting{{Name: "type", Value: "influxdb"}},
		Settings: []hostspec.Setting{
			{Name: "server", Value: "192.168.20.7"}, {Name: "port", Value: "8086"}, {Name: "disable", Value: "0"},
			{Name: "influxdbproto", Value: "https"}, {Name: "bucket", Value: "proxmox"}, {Name: "verify-certificate", Value: "1"},
		},
	}
}

func nightlyJob() hostspec.Definition {
	return hostspec.Definition{
		Kind: hostspec.BackupJob, ID: "nightly", Settings: []hostspec.Setting{
			{Name: "schedule", Value: "02:30"}, {Name: "storage", Value: "local"}, {Name: "mode", Value: "snapshot"}, {Name: "compress", Value: "zstd"},
			{Name: "enabled", Value: "1"}, {Name: "pool"}, {Name: "vmid", Value: "101,102"}, {Name: "exclude"}, {Name: "node"}, {Name: "comment"},
			{Name: "prune-backups", Value: "keep-last=3,keep-daily=7"},
		},
	}
}

// backups defines the storage local, which takes backups.
func (e *emulated) backups() {
	e.t.Helper()
	client, err := e.connection.Client()
	require.NoError(e.t, err)
	require.NoError(e.t, client.Post(e.t.Context(), "/storage", map[string]string{"storage": "local", "type": "dir", "path": "/var/lib/vz", "content": "backup"}, nil))
}

// TestADefinitionFromItsBeginningToItsEnd: it is created, found unchanged, corrected after a change by hand, and removed.
func TestADefinitionFromItsBeginningToItsEnd(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		wanted     hostspec.Definition
		secret     string
		byHand     map[string]string
		difference string
	}{
		"a metric server": {graphs(), "made up for a test", map[string]string{"server": "192.168.20.7", "port": "8087"}, "port: 8087 instead of 8086"},
		"a backup job":    {nightlyJob(), "", map[string]string{"vmid": "101", "prune-backups": "keep-last=1"}, "vmid: 101 instead of 101,102"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newHost(t, nil)
			e.backups()
			run := pve.DefinitionRun{Connection: e.connection, Wanted: c.wanted, Secret: c.secret}
			foreseen, err := run.Foresee(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.wanted.String()+" is made", foreseen)
			outcome, err := run.Apply(t.Context())
			require.NoError(t, err)
			require.Equal(t, pve.OutcomeMade, outcome)
			run.Made = true
			differences, err := run.Differences(t.Context())
			require.NoError(t, err)
			require.Empty(t, differences)

			client, err := e.connection.Client()
			require.NoError(t, err)
			path := map[hostspec.Kind]string{hostspec.MetricServer: "/cluster/metrics/server/", hostspec.BackupJob: "/cluster/backup/"}[c.wanted.Kind] + url.PathEscape(c.wanted.ID)
			require.NoError(t, client.Put(t.Context(), path, c.byHand, nil))
			differences, err = run.Differences(t.Context())
			require.NoError(t, err)
			require.Contains(t, differences, c.difference)
			mark := len(e.changes())
			outcome, err = run.Apply(t.Context())
			require.NoError(t, err)
			require.Equal(t, pve.OutcomeMade, outcome)
			require.Len(t, e.changes(), mark+1)
			foreseen, err = run.Foresee(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.wanted.String()+" is as the inventory wants it", foreseen)
			run.Secret = "" // Proxmox VE does not read it back, so an Apply with one always sets it
			_, err = run.Apply(t.Context())
			require.NoError(t, err)
			require.Len(t, e.changes(), mark+1, "nothing to do: nothing is called")

			outcome, err = run.Release(t.Context())
			require.NoError(t, err)
			require.Equal(t, pve.OutcomeRemoved, outcome)
			outcome, err = run.Release(t.Context())
			require.NoError(t, err)
			require.Equal(t, pve.OutcomeGone, outcome)
			differences, err = run.Differences(t.Context())
			require.NoError(t, err)
			require.Equal(t, []string{"absent"}, differences)
		})
	}
}

// TestADefinitionThatIsThereIsAdopted: it is changed in place, refused where Proxmox VE cannot change it, and stays at a destroy.
func TestADefinitionThatIsThereIsAdopted(t *testing.T) {
	t.Parallel()
	e := newHost(t, nil)
	client, err := e.connection.Client()
	require.NoError(t, err)
	require.NoError(t, client.Post(t.Context(), "/cluster/metrics/server/graphs", map[string]string{"type": "graphite", "server": "192.168.20.7", "port": "2003", "path": "a"}, nil))
	run := pve.DefinitionRun{Connection: e.connection, Wanted: hostspec.Definition{
		Kind: hostspec.MetricServer, ID: "graphs", Fixed: []hostspec.Setting{{Name: "type", Value: "graphite"}},
		Settings: []hostspec.Setting{{Name: "server", Value: "192.168.20.7"}, {Name: "port", Value: "2004"}},
	}}
	foreseen, err := run.Foresee(t.Context())
	require.NoError(t, err)
	require.Equal(t, "metric server graphs is changed: port: 2003 instead of 2004", foreseen)
	outcome, err := run.Apply(t.Context())
	require.NoError(t, err)
	require.Equal(t, pve.OutcomeAdopted, outcome)
	require.Equal(t, "a", read[struct{ Path string }](t, e, "/cluster/metrics/server/graphs").Path, "what the inventory leaves out stays")
	outcome, err = run.Release(t.Context())
	require.NoError(t, err)
	require.Equal(t, pve.OutcomeKept, outcome)

	run.Wanted = graphs()
	const refusal = "the metric server graphs is there with other settings (type: graphite instead of influxdb), which Proxmox VE never changes: correct it in the inventory, or choose another name for it"
	_, err = run.Apply(t.Context())
	require.EqualError(t, err, refusal)
	_, err = run.Foresee(t.Context())
	require.EqualError(t, err, refusal)
}

// TestASelectionOfMachinesIsReplaced: a job has the machines of the inventory and no others.
func TestASelectionOfMachinesIsReplaced(t *testing.T) {
	t.Parallel()
	e := newHost(t, nil)
	e.backups()
	run := pve.DefinitionRun{Connection: e.connection, Wanted: nightlyJob(), Made: true}
	_, err := run.Apply(t.Context())
	require.NoError(t, err)
	run.Wanted.Settings = []hostspec.Setting{
		{Name: "schedule", Value: "02:30"}, {Name: "storage", Value: "local"}, {Name: "all", Value: "1"}, {Name: "exclude", Value: "900"}, {Name: "vmid"}, {Name: "pool"},
	}
	_, err = run.Apply(t.Context())
	require.NoError(t, err)
	differences, err := run.Differences(t.Context())
	require.NoError(t, err)
	require.Empty(t, differences)
	job := read[map[string]any](t, e, "/cluster/backup/nightly")
	require.NotContains(t, job, "vmid")
	require.Equal(t, "900", job["exclude"])
}

// TestADefinitionThatTheHostRefuses checks that each refusal is one sentence that states what to do.
func TestADefinitionThatTheHostRefuses(t *testing.T) {
	t.Parallel()
	e := newHost(t, nil)
	run := pve.DefinitionRun{Connection: e.connection, Wanted: nightlyJob()}
	run.Wanted.Settings[0].Value = "at night"
	_, err := run.Apply(t.Context())
	require.ErrorContains(t, err, "the backup job nightly cannot be made (bad request: 400 Parameter verification failed. - {\"schedule\":")
	require.ErrorContains(t, err, "): see that its storage takes backups and that its pool is there, then run up again")

	weak := newHostFor(t, "Sys.Audit")
	run = pve.DefinitionRun{Connection: weak.connection, Wanted: nightlyJob()}
	_, err = run.Foresee(t.Context())
	require.EqualError(t, err, "the token may not change the backup jobs: give it the privilege Sys.Modify on /, then run again")
	_, err = run.Apply(t.Context())
	require.EqualError(t, err, "the token may not change the backup jobs: give it the privilege Sys.Modify on /, then run again")
	weak = newHostFor(t, "Sys.Audit", "Sys.Modify")
	run.Connection = weak.connection
	_, err = run.Foresee(t.Context())
	require.EqualError(t, err, "the token may not make the backup job nightly back up to local: give it the privilege Datastore.Allocate on /storage/local, then run again")
	run = pve.DefinitionRun{Connection: weak.connection, Wanted: hostspec.Definition{Kind: hostspec.MetricServer, ID: "otel", Fixed: []hostspec.Setting{{Name: "type", Value: "opentelemetry"}}}}
	_, err = run.Foresee(t.Context())
	require.ErrorContains(t, err, "the metric server otel is of the type opentelemetry, which Proxmox VE has from 9.0 on, and this is 8.4")
	weak = newHostFor(t, "Sys.Audit", "Sys.Modify", "Pool.Allocate", "Pool.Audit", "Datastore.Allocate")
	client, err := weak.connection.Client()
	require.NoError(t, err)
	require.NoError(t, client.Post(t.Context(), "/pools", map[string]string{"poolid": "web"}, nil))
	run = pve.DefinitionRun{Connection: weak.connection, Wanted: nightlyJob()}
	run.Wanted.Settings[5].Value, run.Wanted.Settings[6].Value = "web", ""
	const lacking = "the token may not back up the pool of the backup job nightly: as root on the host, `pveum role modify EmInfraOperator --append 1 --privs \"VM.Backup\"`, or give it VM.Backup on /pool/web by another role, then run again"
	_, err = run.Foresee(t.Context())
	require.EqualError(t, err, lacking)
	_, err = run.Apply(t.Context())
	require.EqualError(t, err, lacking)
	blind := newHostFor(t, "VM.Audit")
	run = pve.DefinitionRun{Connection: blind.connection, Wanted: graphs()}
	_, err = run.Differences(t.Context())
	require.EqualError(t, err, "the token may not read the metric servers: give it the privilege Sys.Audit on /")
}
