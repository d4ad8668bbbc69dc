package pve_test

import (
	"fmt"
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

	e.releases(run, pve.TokenDeleted)
	e.releases(run, pve.TokenGone)
	_, err = token.Reach(t.Context())
	require.Error(t, err)
	remade, err := run.Apply(t.Context())
	require.NoError(t, err, "one that was deleted by hand is made again")
	require.NotEqual(t, run.Former, remade)
}

// TestATokenOfAUserThatTheSameRunMakes: Proxmox VE refuses a query about a user that does not exist with the same error as a query without a
// privilege.
func TestATokenOfAUserThatTheSameRunMakes(t *testing.T) {
	t.Parallel()
	e := newHost(t, func(c *proxmox.Config) {
		c.Tokens[0].Privileges = append(c.Tokens[0].Privileges, "User.Modify", "Permissions.Modify", "Realm.AllocateUser")
	})
	run := pve.HostTokenRun{Connection: e.connection, Wanted: nightlyToken(), Former: "made in another life"}
	foreseen, err := run.Foresee(t.Context())
	require.NoError(t, err)
	require.Equal(t, "token backup@pve!nightly is made", foreseen[0])
	e.releases(run, pve.TokenGone) // it went with its user
}

// TestATokenOfARunThatDidNotEnd: it is made anew, since it is unfinished. One that is finished is refused if the state does not have it.
func TestATokenOfARunThatDidNotEnd(t *testing.T) {
	t.Parallel()
	e := withBackupUser(t)
	run := pve.HostTokenRun{Connection: e.connection, Wanted: nightlyToken()}
	run.Wanted.Grants[0].Role = "NoSuchRole"
	_, err := run.Apply(t.Context())
	require.ErrorContains(t, err, "role 'NoSuchRole' does not exist): mend that, then run up again, which makes the token anew")
	run.Wanted.Grants[0].Role = "PVEAuditor"
	foreseen, err := run.Foresee(t.Context())
	require.NoError(t, err)
	require.Equal(t, "token backup@pve!nightly is made anew: a run that did not end has left it unfinished", foreseen[0])
	finished, err := run.Apply(t.Context())
	require.NoError(t, err)

	const refusal = "the token backup@pve!nightly exists, the state of this stack does not have it, and Proxmox VE shows a secret only once: delete it with `pveum user token remove backup@pve nightly`, which cuts off what uses it, or choose another name"
	_, err = run.Foresee(t.Context())
	require.EqualError(t, err, refusal)
	_, err = run.Apply(t.Context())
	require.EqualError(t, err, refusal)
	e.releases(run, pve.TokenForeign) // what the state does not have stays
	token := e.connection
	token.Token = finished
	_, err = token.Reach(t.Context())
	require.NoError(t, err)
}

// TestATokenIsKnownByItsSecret: one that was made by hand under its name is refused, and one whose comment was changed by hand is mended.
func TestATokenIsKnownByItsSecret(t *testing.T) {
	t.Parallel()
	e := withBackupUser(t)
	run := pve.HostTokenRun{Connection: e.connection, Wanted: nightlyToken()}
	var err error
	run.Former, err = run.Apply(t.Context())
	require.NoError(t, err)
	client, err := e.connection.Client()
	require.NoError(t, err)
	const path = "/access/users/backup@pve/token/nightly"
	require.NoError(t, client.Put(t.Context(), path, map[string]any{"comment": "by hand"}, nil))
	again, err := run.Apply(t.Context())
	require.NoError(t, err)
	require.Equal(t, run.Former, again)
	differences, err := run.Differences(t.Context())
	require.NoError(t, err)
	require.Empty(t, differences, "its comment is as it was")

	require.NoError(t, client.Delete(t.Context(), path, nil))
	require.NoError(t, client.Post(t.Context(), path, map[string]any{"comment": "of a person"}, nil))
	_, err = run.Apply(t.Context())
	require.ErrorContains(t, err, "exists, the state of this stack does not have it")
	e.releases(run, pve.TokenForeign) // else it would hold up the removal of everything else
	require.NoError(t, client.Get(t.Context(), path, &struct{}{}))

	require.NoError(t, client.Put(t.Context(), path, map[string]any{"comment": run.Wanted.CommentOf("")}, nil))
	e.releases(run, pve.TokenDeleted) // a run that was killed has left it unfinished
}

// releases expects the result of a release.
func (e *emulated) releases(run pve.HostTokenRun, want pve.TokenRelease) {
	e.t.Helper()
	outcome, err := run.Release(e.t.Context())
	require.NoError(e.t, err)
	require.Equal(e.t, want, outcome)
}

// TestTheTokenOfTheRunIsNotTouched: neither changed nor deleted.
func TestTheTokenOfTheRunIsNotTouched(t *testing.T) {
	t.Parallel()
	e := newHost(t, administrator)
	run := pve.HostTokenRun{Connection: e.connection, Wanted: hostspec.Token{ID: tokenID, Owner: "site"}}
	const refusal = "the token " + tokenID + " is the one that this run works with, and is not touched (%s): run this with the token of another user, or leave it out of the inventory"
	_, err := run.Foresee(t.Context())
	require.EqualError(t, err, fmt.Sprintf(refusal, "the state of this stack does not have it"))
	run.Former = e.connection.Token
	_, err = run.Apply(t.Context())
	require.ErrorContains(t, err, "the token "+tokenID+" is the one that this run works with, and is not touched (token "+tokenID+" is changed: ")
	_, err = run.Release(t.Context())
	require.EqualError(t, err, fmt.Sprintf(refusal, "it would be deleted"))
	require.Empty(t, e.accessWrites())
}
