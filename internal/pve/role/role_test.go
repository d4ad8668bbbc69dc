package role_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/pve/role"
)

func parsed(t *testing.T, text string) role.Release {
	t.Helper()
	release, err := role.ParseRelease(text)
	require.NoError(t, err)
	return release
}

func TestEveryPrivilegeIsKnownToItsRelease(t *testing.T) {
	t.Parallel()
	for _, release := range schema.Releases() {
		known := access.Privileges(release)
		privileges := role.Need{Release: parsed(t, string(release)), GuestAgent: true, Snapshots: true, Backups: true}.Privileges()
		require.Subset(t, known, privileges, "a role with a privilege that %s does not know cannot be made (F12)", release)
		require.NotContains(t, privileges, "Permissions.Modify")
	}
}

// TestTheGuestAgentsPrivilege: the privilege depends on the release, and a role has it only if there is an agent to query.
func TestTheGuestAgentsPrivilege(t *testing.T) {
	t.Parallel()
	for release, privilege := range map[string]string{"8.4.1": "VM.Monitor", "9.0": "VM.GuestAgent.Audit", "9.1~beta": "VM.GuestAgent.Audit"} {
		without := role.Need{Release: parsed(t, release)}.Privileges()
		require.NotContains(t, without, "VM.Monitor")
		require.NotContains(t, without, "VM.GuestAgent.Audit")
		with := role.Need{Release: parsed(t, release), GuestAgent: true}.Privileges()
		require.Equal(t, append(without, privilege), with, release)
		require.Equal(t, []string{privilege}, role.On(role.GuestAgent, parsed(t, release)))
		require.NotContains(t, role.On(role.Machine, parsed(t, release)), privilege)
	}
}

// TestThePrivilegeForSnapshots: a role has the privilege only if snapshots of systems are taken, and it is never superfluous.
func TestThePrivilegeForSnapshots(t *testing.T) {
	t.Parallel()
	for _, release := range []string{"8.4", "9.1"} {
		need := role.Need{Release: parsed(t, release)}
		require.NotContains(t, need.Privileges(), "VM.Snapshot")
		with := need
		with.Snapshots = true
		require.Equal(t, append(need.Privileges(), "VM.Snapshot"), with.Privileges())
		require.Equal(t, []string{"VM.Snapshot"}, role.On(role.Snapshots, need.Release))
		require.Empty(t, role.Standing{RoleFound: true, Role: with.Privileges()}.SuperfluousInRole(need))
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	release := parsed(t, "9.1")
	require.Equal(t, []string{"SDN.Use"}, role.On(role.Bridge, release))
	require.Equal(t, []string{"Datastore.Audit", "Datastore.AllocateSpace"}, role.On(role.Storage, release))
	require.Subset(t, role.On(role.ISOStorage, release), role.On(role.Storage, release))
	var all []string
	for _, scope := range []role.Scope{
		role.Root, role.Host, role.Storage, role.ISOStorage, role.Machine, role.Bridge, role.Mapping, role.Pool, role.GuestAgent, role.Snapshots, role.Backups,
	} {
		all = append(all, role.On(scope, release)...)
	}
	require.Subset(t, all, role.Need{Release: release, GuestAgent: true, Snapshots: true, Backups: true}.Privileges(), "a privilege that is needed nowhere is not least")
}

func TestReleasesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "8", "8.x", "v8.4", "8.4foo"} {
		_, err := role.ParseRelease(text)
		require.EqualError(t, err, `"`+text+`" is no release of Proxmox VE: write one like 8.4`)
	}
	require.Equal(t, "8.4", parsed(t, "8.4.14-1").String())
}

func TestCommands(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{
		`pveum role add EmInfraOperator --privs "Sys.Audit Sys.Modify Sys.AccessNetwork Datastore.Audit Datastore.AllocateSpace ` +
			`Datastore.AllocateTemplate Datastore.Allocate VM.Allocate VM.Audit VM.Clone VM.Migrate VM.Config.CDROM VM.Config.CPU ` +
			`VM.Config.Cloudinit VM.Config.Disk VM.Config.HWType VM.Config.Memory VM.Config.Network VM.Config.Options VM.PowerMgmt ` +
			`SDN.Use Mapping.Audit Mapping.Modify Mapping.Use Pool.Allocate Pool.Audit VM.Monitor"`,
		"pveum user add em-infra@pve",
		"pveum acl modify / --users em-infra@pve --roles EmInfraOperator",
		"pveum user token add em-infra@pve operator --privsep 0",
	}, role.Commands(role.Need{Release: parsed(t, "8.4"), GuestAgent: true}, role.DefaultToken))
}

func TestTokens(t *testing.T) {
	t.Parallel()
	token, err := role.ParseToken("ops@pam!k8s=not-a-secret")
	require.NoError(t, err)
	require.Equal(t, role.Token{User: "ops@pam", Name: "k8s"}, token)
	for _, text := range []string{"", "ops@pam", "ops!k8s", "ops@pam!"} {
		_, err := role.ParseToken(text)
		require.EqualError(t, err, "the token has not the form USER@REALM!NAME: write one like em-infra@pve!operator")
	}
}

func TestRepairs(t *testing.T) {
	t.Parallel()
	need, token := role.Need{Release: parsed(t, "9.1"), GuestAgent: true}, role.Token{User: "ops@pve", Name: "k8s"}
	whole := role.Standing{RoleFound: true, Role: need.Privileges(), Effective: need.Privileges()}
	given := []string{"pveum acl modify / --users ops@pve --roles EmInfraOperator", "pveum acl modify / --tokens 'ops@pve!k8s' --roles EmInfraOperator"}
	for _, test := range []struct {
		name   string
		change func(*role.Standing)
		want   []string
	}{
		{"whole", func(*role.Standing) {}, nil},
		{"more than needed", func(s *role.Standing) { s.Role = append(s.Role, "VM.Console") }, nil},
		{"no role", func(s *role.Standing) { *s = role.Standing{} }, append(role.Commands(need, token)[:1:1], given...)},
		{
			"role of an older release", func(s *role.Standing) {
				s.Role = role.Need{Release: role.Release{Major: 8, Minor: 4}, GuestAgent: true}.Privileges()
			},
			[]string{`pveum role modify EmInfraOperator --append 1 --privs "VM.GuestAgent.Audit"`},
		},
		{"role not given", func(s *role.Standing) { s.Effective = nil }, given},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			standing := whole
			test.change(&standing)
			require.Equal(t, test.want, role.Repairs(need, token, standing))
		})
	}
}
