package pve_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// administrator gives the token of the host a role that may change the access control.
func administrator(c *proxmox.Config) {
	c.Tokens[0].Role, c.Tokens[0].Privileges = "Administrator", nil
}

func backupAccess() hostspec.Access {
	return hostspec.Access{
		Roles:  []hostspec.Role{{Name: "Backup", Privileges: []string{"VM.Backup", "VM.Audit"}}},
		Groups: []hostspec.Group{{Name: "viewers", Comment: "may look"}},
		Users: []hostspec.User{
			{ID: "backup@pve", Comment: "nightly", Email: "admin@home.example", Expires: time.Date(2027, 6, 30, 0, 0, 0, 0, time.UTC).Unix(), Groups: []string{"viewers"}},
			{ID: "guest@pve", Disabled: true},
		},
		Grants: []hostspec.Grant{
			{Path: "/", Role: "PVEAuditor", Kind: hostspec.HolderGroup, Holder: "viewers"},
			{Path: "/vms", Role: "Backup", Kind: hostspec.HolderUser, Holder: "backup@pve", Here: true},
		},
	}
}

// accessWrites returns the calls so far that changed the access control.
func (e *emulated) accessWrites() (writes []string) {
	for _, call := range e.server.Calls() {
		if call.Write() && strings.HasPrefix(call.Endpoint, "/access/") {
			writes = append(writes, call.Verb+" "+call.Endpoint)
		}
	}
	return writes
}

// TestAccessFromItsBeginningToItsEnd: the access control is created in an order that the host accepts, found unchanged, changed by hand, corrected,
// and deleted.
func TestAccessFromItsBeginningToItsEnd(t *testing.T) {
	t.Parallel()
	e := newHost(t, administrator)
	run := pve.AccessRun{Connection: e.connection, Wanted: backupAccess()}
	foreseen, err := run.Foresee(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{
		"role Backup is made", "group viewers is made", "user backup@pve is made", "user guest@pve is made",
		"permission: PVEAuditor on / for group viewers", "permission: Backup on /vms for user backup@pve, and not below it",
	}, foreseen)
	run.Made, err = run.Apply(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{
		"role Backup", "group viewers", "user backup@pve", "user guest@pve",
		"permission PVEAuditor on / for group viewers", "permission Backup on /vms for user backup@pve",
	}, run.Made)
	writes := len(e.accessWrites())
	run.Made, err = run.Apply(t.Context())
	require.NoError(t, err)
	require.Len(t, run.Made, 6)
	require.Len(t, e.accessWrites(), writes, "nothing to do: nothing is called")

	client, err := e.connection.Client()
	require.NoError(t, err)
	require.NoError(t, client.Put(t.Context(), "/access/roles/Backup", map[string]string{"privs": "VM.Audit,VM.Allocate"}, nil))
	require.NoError(t, client.Put(t.Context(), "/access/users/guest@pve", map[string]string{"enable": "1", "comment": "by hand"}, nil))
	require.NoError(t, client.Delete(t.Context(), "/access/groups/viewers", nil))
	differences, err := run.Differences(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{
		"role Backup: VM.Backup comes, VM.Allocate goes", "group viewers is made", "user backup@pve: groups viewers comes",
		"user guest@pve: may log in true → false", "permission: PVEAuditor on / for group viewers",
	}, differences, "a comment that the inventory leaves out stays as it is")
	run.Made, err = run.Apply(t.Context())
	require.NoError(t, err)
	differences, err = run.Differences(t.Context())
	require.NoError(t, err)
	require.Empty(t, differences)

	require.NoError(t, run.Release(t.Context()))
	var users []struct{ UserID string }
	require.NoError(t, client.Get(t.Context(), "/access/users", &users))
	for _, user := range users {
		require.NotContains(t, []string{"backup@pve", "guest@pve"}, user.UserID)
	}
	require.ErrorContains(t, client.Get(t.Context(), "/access/roles/Backup", nil), "does not exist")
	require.NoError(t, run.Release(t.Context()), "what is gone already is no error")
}

// TestAccessThatIsThereIsAdopted checks that existing access is changed in place and stays at the end, and that what was made here is deleted when it
// is left out.
func TestAccessThatIsThereIsAdopted(t *testing.T) {
	t.Parallel()
	e := newHost(t, administrator)
	client, err := e.connection.Client()
	require.NoError(t, err)
	require.NoError(t, client.Post(t.Context(), "/access/users", map[string]string{"userid": "backup@pve", "comment": "of before"}, nil))
	run := pve.AccessRun{Connection: e.connection, Wanted: backupAccess()}
	run.Made, err = run.Apply(t.Context())
	require.NoError(t, err)
	require.NotContains(t, run.Made, "user backup@pve")

	run.Wanted = hostspec.Access{Users: backupAccess().Users[:1], Groups: backupAccess().Groups}
	foreseen, err := run.Foresee(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{
		"permission is taken away: PVEAuditor on / for group viewers", "permission is taken away: Backup on /vms for user backup@pve, and not below it",
		"user guest@pve is deleted", "role Backup is deleted",
	}, foreseen)
	run.Made, err = run.Apply(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"group viewers"}, run.Made)
	require.NoError(t, run.Release(t.Context()))
	require.NoError(t, client.Get(t.Context(), "/access/users/backup@pve", nil), "it was there before")
}

// TestATokenDoesNotLockItselfOut: no change takes a privilege from the token that the run works with.
func TestATokenDoesNotLockItselfOut(t *testing.T) {
	t.Parallel()
	const own = "em-infra@pve"
	everything := hostspec.Grant{Path: "/", Role: "Administrator", Kind: hostspec.HolderUser, Holder: own}
	for _, test := range []struct {
		name   string
		wanted hostspec.Access
		made   []string
		lost   string
	}{
		{
			"its user may not log in", hostspec.Access{Users: []hostspec.User{{ID: own, Disabled: true}}}, nil, "Datastore.Allocate on /",
		},
		{
			"its user has expired", hostspec.Access{Users: []hostspec.User{{ID: own, Expires: 1}}}, nil, "Datastore.Allocate on /",
		},
		{
			"its user was made here and is left out", hostspec.Access{}, []string{"user " + own}, "Datastore.Allocate on /",
		},
		{
			"its permission was made here and is left out", hostspec.Access{}, []string{"permission " + everything.String()}, "Datastore.Allocate on /",
		},
		{
			"it gets less further down", hostspec.Access{Grants: []hostspec.Grant{{Path: "/vms", Role: "PVEAuditor", Kind: hostspec.HolderUser, Holder: own}}}, nil,
			"Datastore.Allocate on /vms",
		},
		{
			"it gets nothing further down", hostspec.Access{Grants: []hostspec.Grant{{Path: "/storage", Role: "NoAccess", Kind: hostspec.HolderUser, Holder: own}}}, nil,
			"Datastore.Allocate on /storage",
		},
		{
			"its permission holds on the path alone", hostspec.Access{Grants: []hostspec.Grant{
				{Path: "/", Role: "Administrator", Kind: hostspec.HolderUser, Holder: own, Here: true},
			}}, nil, "Datastore.Allocate below /",
		},
		{
			"a second permission would replace one that comes later", hostspec.Access{Groups: []hostspec.Group{{Name: "viewers"}}, Grants: []hostspec.Grant{
				{Path: "/vms", Role: "PVEAuditor", Kind: hostspec.HolderUser, Holder: own},
				{Path: "/vms", Role: "Administrator", Kind: hostspec.HolderUser, Holder: own},
			}}, nil, "Datastore.Allocate on /vms",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := newHost(t, administrator)
			run := pve.AccessRun{Connection: e.connection, Wanted: test.wanted, Made: test.made}
			_, err := run.Apply(t.Context())
			require.ErrorContains(t, err, "the changes of access would take from the token "+tokenID+", which this run works with: "+test.lost)
			require.ErrorContains(t, err, "keep what the token stands on, or run this with the token of another user")
			require.Empty(t, e.accessWrites())
		})
	}
}

// TestATokenThatMayNotChangeTheAccess checks that the preflight names every missing privilege, and that the error of a refused call names the one
// that the call needs.
func TestATokenThatMayNotChangeTheAccess(t *testing.T) {
	t.Parallel()
	e := newHost(t, nil)
	run := pve.AccessRun{Connection: e.connection, Wanted: hostspec.Access{Groups: backupAccess().Groups, Users: backupAccess().Users[1:]}}
	_, err := run.Foresee(t.Context())
	require.EqualError(t, err, "the token lacks Group.Allocate on /access/groups, User.Modify on /access/groups, Realm.AllocateUser on /access/realm/pve (for: group viewers is made; user guest@pve is made): as root on the host, run `pveum role modify ROLE --append 1 --privs \"Group.Allocate User.Modify Realm.AllocateUser\"` for a role that it has there, with which it can give itself everything")
	_, err = run.Apply(t.Context())
	require.EqualError(t, err, "group viewers is made: not done (the token may not do that: give it Group.Allocate on /access/groups): mend that, then run up again")
	require.Equal(t, []string{http.MethodPost + " /access/groups"}, e.accessWrites())
	asked := len(e.server.Calls())
	_, err = run.Apply(t.Context())
	require.Error(t, err)
	calls := e.server.Calls()[asked:]
	require.Equal(t, "/access/groups", calls[len(calls)-1].Endpoint, "nothing was made, so nothing is looked for")
}

// TestWhatAFailedRunHasMadeIsDeleted: the state gets no names from it, and the next run would take what is there for access from before the stack.
func TestWhatAFailedRunHasMadeIsDeleted(t *testing.T) {
	t.Parallel()
	e := newHost(t, func(c *proxmox.Config) {
		c.Tokens[0].Privileges = append(c.Tokens[0].Privileges, "Group.Allocate", "Realm.AllocateUser", "Sys.Modify", "User.Modify")
	})
	run := pve.AccessRun{Connection: e.connection, Wanted: hostspec.Access{Groups: backupAccess().Groups}}
	made, err := run.Apply(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"group viewers"}, made)

	run.Made, run.Wanted = made, backupAccess()
	before, err := run.Differences(t.Context())
	require.NoError(t, err)
	kept, err := run.Apply(t.Context())
	require.EqualError(t, err, "permission: PVEAuditor on / for group viewers: not done (the token may not do that: give it Permissions.Modify on /): mend that, then run up again")
	require.Equal(t, []string{"group viewers"}, kept)
	after, err := run.Differences(t.Context())
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.Contains(t, after, "user backup@pve is made")
}

// TestTheReachOfAPermissionIsChangedInPlace checks both directions: Proxmox VE has one entry, regardless of its reach.
func TestTheReachOfAPermissionIsChangedInPlace(t *testing.T) {
	t.Parallel()
	e := newHost(t, administrator)
	run := pve.AccessRun{Connection: e.connection, Wanted: backupAccess()}
	var err error
	run.Made, err = run.Apply(t.Context())
	require.NoError(t, err)
	for range 2 {
		run.Wanted.Grants[1].Here = !run.Wanted.Grants[1].Here
		foreseen, err := run.Foresee(t.Context())
		require.NoError(t, err)
		require.Len(t, foreseen, 1)
		run.Made, err = run.Apply(t.Context())
		require.NoError(t, err)
		require.Len(t, run.Made, 6)
		differences, err := run.Differences(t.Context())
		require.NoError(t, err)
		require.Empty(t, differences)
	}
	require.NoError(t, run.Release(t.Context()))
}

// TestWhatAPersonHasMadeInTheMeantimeIsNotDeleted: what the stack made was deleted by hand, left out, and made again by hand.
func TestWhatAPersonHasMadeInTheMeantimeIsNotDeleted(t *testing.T) {
	t.Parallel()
	e := newHost(t, administrator)
	run := pve.AccessRun{Connection: e.connection, Wanted: backupAccess()}
	var err error
	run.Made, err = run.Apply(t.Context())
	require.NoError(t, err)
	client, err := e.connection.Client()
	require.NoError(t, err)
	require.NoError(t, client.Delete(t.Context(), "/access/users/guest@pve", nil))
	run.Wanted.Users = run.Wanted.Users[:1]
	run.Made, err = run.Apply(t.Context())
	require.NoError(t, err)
	require.NotContains(t, run.Made, "user guest@pve")
	require.NoError(t, client.Post(t.Context(), "/access/users", map[string]string{"userid": "guest@pve"}, nil))
	require.NoError(t, run.Release(t.Context()))
	require.NoError(t, client.Get(t.Context(), "/access/users/guest@pve", nil))
}

// TestUnknownNamesAreRefusedBeforeAnythingIsMade: Proxmox VE would refuse them after the rest is made.
func TestUnknownNamesAreRefusedBeforeAnythingIsMade(t *testing.T) {
	t.Parallel()
	e := newHost(t, administrator)
	wanted := backupAccess()
	wanted.Users[0].Groups, wanted.Grants[0].Role = []string{"viewer"}, "PVEAuditors"
	_, err := pve.AccessRun{Connection: e.connection, Wanted: wanted}.Apply(t.Context())
	require.EqualError(t, err, "there is no group viewer, which user backup@pve names: add it to access, or correct the name\n"+
		"there is no role PVEAuditors, which the permission of group viewers on / names: add it to access, or correct the name")
	require.Empty(t, e.accessWrites())
}

// TestATokenThatDoesNotSeeEverything is refused: the host leaves out of its lists what a token may not see.
func TestATokenThatDoesNotSeeEverything(t *testing.T) {
	t.Parallel()
	hostClock := newClock()
	config := hostConfig(t, hostClock)
	config.Tokens[0].Privileges = []string{"Sys.Modify", "Permissions.Modify"}
	e := serve(t, config, hostClock)
	_, err := pve.AccessRun{Connection: e.connection, Wanted: backupAccess()}.Apply(t.Context())
	require.EqualError(t, err, "the token does not see all users and permissions: give it Sys.Audit on /access, then run again")
	require.Empty(t, e.accessWrites())
}
