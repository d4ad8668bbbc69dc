package pve_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

const nightly = "backup@pve!nightly"

func nightlyToken() hostspec.Token {
	return hostspec.Token{
		ID: nightly, Owner: "site", Comment: "of the backup program", Separated: true,
		Grants: []hostspec.Grant{{Path: "/vms", Role: "PVEAuditor", Kind: hostspec.HolderToken, Holder: nightly}},
	}
}

// withBackupUser returns a host with the user of the token, who may look at machines.
func withBackupUser(t *testing.T) *emulated {
	t.Helper()
	e := newHost(t, administrator)
	_, err := pve.AccessRun{Connection: e.connection, Wanted: hostspec.Access{
		Users:  []hostspec.User{{ID: "backup@pve"}},
		Grants: []hostspec.Grant{{Path: "/", Role: "PVEAuditor", Kind: hostspec.HolderUser, Holder: "backup@pve"}},
	}}.Apply(t.Context())
	require.NoError(t, err)
	return e
}

// TestATokenFromItsBeginningToItsEnd: it works, keeps its secret through changes, and is gone at the end.
func TestATokenFromItsBeginningToItsEnd(t *testing.T) {
	t.Parallel()
	e := withBackupUser(t)
	run := pve.HostTokenRun{Connection: e.connection, Wanted: nightlyToken()}
	foreseen, err := run.Foresee(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"token backup@pve!nightly is made", "permission: PVEAuditor on /vms for token backup@pve!nightly"}, foreseen)
	run.Former, err = run.Apply(t.Context())
	require.NoError(t, err)
	token := e.connection
	token.Token = run.Former
	reader, err := pve.NewReader(token)
	require.NoError(t, err)
	privileges, err := reader.Privileges(t.Context(), "/vms")
	require.NoError(t, err)
	require.Contains(t, privileges, "VM.Audit")
	privileges, err = reader.Privileges(t.Context(), "/storage")
	require.NoError(t, err)
	require.Empty(t, privileges, "its user may look there, and it may not")

	writes := len(e.accessWrites())
	again, err := run.Apply(t.Context())
	require.NoError(t, err)
	require.Equal(t, run.Former, again)
	require.Len(t, e.accessWrites(), writes, "nothing to do: nothing is called")

	run.Wanted.Grants[0].Role, run.Wanted.Expires = "PVEVMUser", 1_900_000_000
	differences, err := run.Differences(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{
		"token backup@pve!nightly is changed: expires never → 2030-03-17", "permission: PVEVMUser on /vms for token backup@pve!nightly",
		"permission is taken away: PVEAuditor on /vms for token backup@pve!nightly",
	}, differences)
	again, err = run.Apply(t.Context())
	require.NoError(t, err)
	require.Equal(t, run.Former, again, "its secret stays")
	differences, err = run.Differences(t.Context())
	require.NoError(t, err)
	require.Empty(t, differences)

	require.NoError(t, run.Release(t.Context()))
	require.NoError(t, run.Release(t.Context()), "it is gone already")
	_, err = token.Reach(t.Context())
	require.Error(t, err)
	remade, err := run.Apply(t.Context())
	require.NoError(t, err, "one that was deleted by hand is made again")
	require.NotEqual(t, run.Former, remade)
}

// TestATokenOfAUserThatTheSameRunMakes: Proxmox VE refuses a question about a user that does not exist as one without a privilege.
func TestATokenOfAUserThatTheSameRunMakes(t *testing.T) {
	t.Parallel()
	e := newHost(t, func(c *proxmox.Config) {
		c.Tokens[0].Privileges = append(c.Tokens[0].Privileges, "User.Modify", "Permissions.Modify", "Realm.AllocateUser")
	})
	run := pve.HostTokenRun{Connection: e.connection, Wanted: nightlyToken(), Former: "made in another life"}
	foreseen, err := run.Foresee(t.Context())
	require.NoError(t, err)
	require.Equal(t, "token backup@pve!nightly is made", foreseen[0])
	require.NoError(t, run.Release(t.Context()), "it went with its user")
}

// TestATokenWhoseSecretIsLost: a run that was killed has made it. It is made anew; another one's is refused.
func TestATokenWhoseSecretIsLost(t *testing.T) {
	t.Parallel()
	e := withBackupUser(t)
	run := pve.HostTokenRun{Connection: e.connection, Wanted: nightlyToken()}
	lost, err := run.Apply(t.Context())
	require.NoError(t, err)
	foreseen, err := run.Foresee(t.Context())
	require.NoError(t, err)
	require.Equal(t, "token backup@pve!nightly is made anew: a run that was killed has made it, and its secret is lost", foreseen[0])
	anew, err := run.Apply(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, lost, anew)

	run.Wanted.Owner = "other"
	const refusal = "the token backup@pve!nightly exists and was not made here, and Proxmox VE shows a secret only once: delete it with `pveum user token remove backup@pve nightly`, or choose another name"
	_, err = run.Foresee(t.Context())
	require.EqualError(t, err, refusal)
	_, err = run.Apply(t.Context())
	require.EqualError(t, err, refusal)
	require.NoError(t, run.Release(t.Context()), "what was not made here stays")
	token := e.connection
	token.Token = anew
	_, err = token.Reach(t.Context())
	require.NoError(t, err)
}

// TestTheTokenOfTheRunIsNotTouched: neither changed nor deleted.
func TestTheTokenOfTheRunIsNotTouched(t *testing.T) {
	t.Parallel()
	e := newHost(t, administrator)
	run := pve.HostTokenRun{Connection: e.connection, Wanted: hostspec.Token{ID: tokenID, Owner: "site"}, Former: tokenID}
	_, err := run.Apply(t.Context())
	require.ErrorContains(t, err, "the token "+tokenID+" is the one that this run works with, and is not touched (token "+tokenID+" is changed: ")
	require.EqualError(t, run.Release(t.Context()), "the token "+tokenID+" is the one that this run works with, and is not touched (it is deleted): run this with the token of another user")
	require.Empty(t, e.accessWrites())
}
