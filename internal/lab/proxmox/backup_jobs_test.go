package proxmox_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

const backupJobs = "/cluster/backup"

func (l *lab) job(id string) map[string]any {
	l.t.Helper()

	shown := map[string]any{}
	l.ok(http.MethodGet, backupJobs+"/"+id, nil, &shown)

	return shown
}

func (l *lab) jobs() (list []map[string]any) {
	l.t.Helper()
	l.ok(http.MethodGet, backupJobs, nil, &list)

	return list
}

// TestBackupJobs follows jobs through their life and a restart. The next run is in the time zone of the host.
func TestBackupJobs(t *testing.T) {
	t.Parallel()

	file, at := stateFile(t), newClock()
	at.at.Store(time.Date(2026, time.July, 15, 12, 0, 0, 0, time.UTC).UnixNano())
	start := func() *lab {
		return newLab(t, func(c *proxmox.Config) {
			c.Release, c.StateFile, c.Now = schema.Release91, file, at.now
			c.Tokens[0].Role, c.Tokens[0].Privileges = "Administrator", nil
		})
	}
	l := start()
	l.ok(http.MethodPut, "/nodes/vmhost/time", values("timezone=Europe/Berlin"), nil)
	l.ok(http.MethodPost, "/pools", values("poolid=k3s"), nil)

	l.ok(http.MethodPost, backupJobs, url.Values{
		"id": {"nightly"}, "schedule": {"mon..fri 21:00"}, "storage": {"nas"}, "vmid": {"101,102"}, "mode": {"stop"}, "compress": {"zstd"},
		"prune-backups": {"keep-weekly=4,keep-last=3"}, "notes-template": {"{{guestname}} on {{node}}"}, "comment": {"every night"},
		"fleecing": {"1,storage=thin"}, "exclude-path": {"/tmp/?*", "/var/log"}, "enabled": {"0"}, "zstd": {"2"}, "protected": {"1"},
		"notification-mode": {"notification-system"}, "performance": {"max-workers=8"}, "repeat-missed": {"1"}, "mailto": {"root,a@example.com"},
	}, nil)

	nightly := map[string]any{
		"id": "nightly", "type": "vzdump", "schedule": "mon..fri 21:00", "storage": "nas", "vmid": "101,102", "mode": "stop", "compress": "zstd",
		"prune-backups":  map[string]any{"keep-last": "3", "keep-weekly": "4"},
		"notes-template": "{{guestname}} on {{node}}", "comment": "every night", "fleecing": map[string]any{"enabled": 1.0, "storage": "thin"},
		"exclude-path": []any{"/tmp/?*", "/var/log"}, "enabled": 0.0, "zstd": 2.0, "protected": 1.0, "notification-mode": "notification-system",
		"performance": map[string]any{"max-workers": "8"}, "repeat-missed": 1.0, "mailto": "root,a@example.com",
	}
	require.Equal(t, nightly, l.job("nightly"))

	l.ok(http.MethodPost, backupJobs, values("starttime=4:30 dow=sun,sat exclude=105 prune-backups=keep-all=0"), nil)

	list := l.jobs()
	require.Len(t, list, 2)
	require.Regexp(t, "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", list[1]["id"], "an ID is made")
	require.Equal(t, float64(time.Date(2026, time.July, 15, 19, 0, 0, 0, time.UTC).Unix()), list[0]["next-run"])
	require.Equal(t, map[string]any{
		"id": list[1]["id"], "type": "vzdump", "schedule": "sun,sat 4:30", "exclude": "105", "all": 1.0, "enabled": 1.0,
		"prune-backups": map[string]any{"keep-all": 1.0}, "next-run": float64(time.Date(2026, time.July, 18, 2, 30, 0, 0, time.UTC).Unix()),
	}, list[1])

	l.ok(http.MethodPut, backupJobs+"/nightly", values("pool=k3s schedule=daily enabled=1 comment= delete=exclude-path,fleecing,zstd,mailto"), nil)

	for _, name := range []string{"vmid", "comment", "exclude-path", "fleecing", "zstd", "mailto"} {
		delete(nightly, name)
	}

	nightly["pool"], nightly["schedule"], nightly["enabled"] = "k3s", "daily", 1.0
	require.Equal(t, nightly, l.job("nightly"))

	l.ok(http.MethodPut, backupJobs+"/"+list[1]["id"].(string), values("vmid=103"), nil)
	require.NotContains(t, l.job(list[1]["id"].(string)), "exclude")
	require.NotContains(t, l.job(list[1]["id"].(string)), "all")
	l.ok(http.MethodDelete, backupJobs+"/"+list[1]["id"].(string), nil, nil)

	require.NoError(t, l.server.Close())

	l = start()
	require.Equal(t, nightly, l.job("nightly"))
	require.Len(t, l.jobs(), 1)
}

// TestRefusedBackupJobs: what is refused while the file of the jobs is locked is an error of the server, with the text of the refusal.
func TestRefusedBackupJobs(t *testing.T) {
	t.Parallel()

	l := aptLab(t, schema.Release91, "")
	l.ok(http.MethodPost, backupJobs, values("id=b1 schedule=daily all=1"), nil)

	const locked = "400 Parameter verification failed.\n"

	for name, test := range map[string]struct{ verb, id, params, problem string }{
		"one that is there":      {http.MethodPost, "", "id=b1 schedule=daily all=1", "Job 'b1' already exists"},
		"nothing to back up":     {http.MethodPost, "", "schedule=daily", locked + "vmid: property is missing"},
		"all and some":           {http.MethodPost, "", "schedule=daily all=1 vmid=101", locked + "all: option conflicts with option 'vmid'"},
		"some without some":      {http.MethodPost, "", "schedule=daily exclude=102 vmid=101", locked + "exclude: option conflicts with option 'vmid'"},
		"an unknown variable":    {http.MethodPost, "", "schedule=daily all=1 storage=nas notes-template={{name}}", locked + "notes-template: found unknown: variable 'name' at char 4\n"},
		"an unknown escape":      {http.MethodPost, "", `schedule=daily all=1 storage=nas notes-template=a\t`, locked + "notes-template: found unknown: escape sequence '\\t' at char 1\n"},
		"a change of none":       {http.MethodPut, "/b2", "comment=x", "no such vzdump job"},
		"a change of nothing":    {http.MethodPut, "/b1", "", "no options specified"},
		"to unset its schedule":  {http.MethodPut, "/b1", "delete=schedule", locked + "delete: unknown option 'schedule'"},
		"to unset what it saves": {http.MethodPut, "/b1", "delete=all", locked + "vmid: property is missing"},
		"to delete none":         {http.MethodDelete, "/b2", "", locked + "id: No such job 'b2'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			r := l.do(test.verb, backupJobs+test.id, values(test.params))
			require.Equal(t, test.problem+"\n", r.Message)
			require.Contains(t, r.Status, "500 ")
			require.Empty(t, r.Errors)
		})
	}
}

func TestBackupJobsWithWrongParameters(t *testing.T) {
	t.Parallel()

	l := aptLab(t, schema.Release91, "")

	for name, test := range map[string]struct{ verb, id, params, key, problem string }{
		"no schedule":   {http.MethodPost, "", "all=1", "schedule", "neither 'starttime' nor 'schedule' were set"},
		"two schedules": {http.MethodPost, "", "all=1 schedule=daily starttime=1:00", "starttime", "'starttime' and 'schedule' cannot both be set"},
		"no event": {
			http.MethodPost, "", "all=1 schedule=never", "schedule",
			"invalid format - invalid calendar event 'never' - unable to parse calendar event at 'never' - Context(\"weekday\")\n",
		},
		"no day":                   {http.MethodPost, "", "all=1 starttime=1:00 dow=monday", "dow", "invalid format - invalid day 'monday'\n"},
		"days without a time":      {http.MethodPost, "", "all=1 schedule=daily dow=mon", "starttime", "missing property - 'dow' requires this property"},
		"notes without a storage":  {http.MethodPost, "", "all=1 schedule=daily notes-template=a", "storage", "missing property - 'notes-template' requires this property"},
		"all backups and some":     {http.MethodPost, "", "all=1 schedule=daily prune-backups=keep-all=1,keep-last=2", "prune-backups", "invalid format - keep-all cannot be set together with other options.\n"},
		"an unknown retention":     {http.MethodPost, "", "all=1 schedule=daily prune-backups=keep-some=1", "prune-backups", "invalid format - invalid key in comma-separated list property: keep-some\n"},
		"fleecing to nowhere":      {http.MethodPost, "", "all=1 schedule=daily fleecing=1", "fleecing", "invalid format - 'storage' parameter is required when 'enabled' is set\n"},
		"an unknown mode":          {http.MethodPost, "", "all=1 schedule=daily mode=run", "mode", "value 'run' does not have a value in the enumeration 'snapshot, suspend, stop'"},
		"a folder":                 {http.MethodPost, "", "all=1 schedule=daily dumpdir=/tmp", "dumpdir", "Only root may set this option."},
		"a script":                 {http.MethodPost, "", "all=1 schedule=daily script=/a", "script", "Only root may set this option."},
		"to unset a script":        {http.MethodPut, "/b1", "delete=script", "script", "Only root may set this option."},
		"to read none":             {http.MethodGet, "/b1", "", "id", "No such job 'b1'"},
		"what older releases took": {http.MethodPost, "", "all=1 schedule=daily maxfiles=3", "maxfiles", "property is not defined in schema and the schema does not allow additional properties"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			r := l.do(test.verb, backupJobs+test.id, values(test.params))
			require.Equal(t, "400 Parameter verification failed.", r.Status)
			require.Equal(t, map[string]string{test.key: test.problem}, r.Errors)
		})
	}

	require.Equal(t, "403 Permission check failed (pool 'none' does not exist)",
		l.do(http.MethodPost, backupJobs, values("schedule=daily pool=none")).Status)
}

// TestBackupJobsOfOlderReleases: 8.4 takes the number of backups as a setting of its own.
func TestBackupJobsOfOlderReleases(t *testing.T) {
	t.Parallel()

	l := aptLab(t, schema.Release84, "")
	l.ok(http.MethodPost, backupJobs, values("id=b1 starttime=1:00 dow=mon,tue,wed,thu,fri,sat,sun all=1 maxfiles=3"), nil)
	require.Equal(t, map[string]any{
		"id": "b1", "type": "vzdump", "schedule": "1:00", "all": 1.0, "enabled": 1.0, "prune-backups": map[string]any{"keep-last": "3"},
	}, l.job("b1"))

	r := l.do(http.MethodPost, backupJobs, values("schedule=daily all=1 maxfiles=3 prune-backups=keep-last=2"))
	require.Equal(t, "400 Parameter verification failed.\nprune-backups: option conflicts with option 'maxfiles'\n", r.Message)
}

// TestOtherPeoplesClientSetsBackupJobs defines a job with an independent client.
func TestOtherPeoplesClientSetsBackupJobs(t *testing.T) {
	t.Parallel()

	l := administrator(t)
	ctx, c := t.Context(), otherClient(l)

	require.NoError(t, c.Post(ctx, backupJobs, map[string]any{"id": "b1", "schedule": "daily", "storage": "nas", "all": 1}, nil))
	require.NoError(t, c.Put(ctx, backupJobs+"/b1", map[string]any{"comment": "changed"}, nil))

	var list []struct{ ID, Comment string }

	require.NoError(t, c.Get(ctx, backupJobs, &list))
	require.Equal(t, []struct{ ID, Comment string }{{"b1", "changed"}}, list)
	require.NoError(t, c.Delete(ctx, backupJobs+"/b1", nil))
}
