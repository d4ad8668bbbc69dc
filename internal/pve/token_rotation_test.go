package pve_test

import (
	"crypto/rand"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/pve"
)

// rotating is a stack on a host with an administrator.
type rotating struct {
	*emulated
	rotation pve.TokenRotation
	used     []string // what the state contains
	taken    []string // what other stacks have
}

func newRotating(t *testing.T) *rotating {
	t.Helper()
	secret := rand.Text()
	r := &rotating{emulated: newHost(t, func(c *proxmox.Config) {
		c.Tokens = append(c.Tokens, proxmox.Token{ID: "admin@pve!all", Secret: secret, Role: "Administrator"})
	})}
	administrator := r.connection
	administrator.Token = "admin@pve!all=" + secret
	r.rotation = pve.TokenRotation{
		Present: r.connection, Administrator: administrator, Now: r.clock.Now,
		Save:      func(token string) error { r.rotation.Present.Token = token; return nil },
		IsUsed:    func(id string) (bool, error) { return len(r.used) > 0 && r.used[0] == id, nil },
		MayRemake: func(id string) (bool, error) { return !slices.Contains(r.taken, id), nil },
	}
	return r
}

func (r *rotating) tokens() pve.Tokens {
	r.t.Helper()
	tokens, err := pve.NewTokens(r.rotation.Administrator)
	require.NoError(r.t, err)
	return tokens
}

func (r *rotating) has(id string) bool {
	r.t.Helper()
	_, found, err := r.tokens().Find(r.t.Context(), id)
	require.NoError(r.t, err)
	return found
}

// TestATokenIsReplaced: the second token has the privileges of the first one, which is deleted when the state does not contain it any more.
func TestATokenIsReplaced(t *testing.T) {
	t.Parallel()
	r := newRotating(t)
	first := r.rotation.Present
	step, err := r.rotation.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, &pve.TokenStep{Made: tokenID + "-r2", Former: tokenID}, step)
	require.True(t, strings.HasPrefix(r.rotation.Present.Token, tokenID+"-r2="))
	require.NoError(t, pve.SamePrivileges(t.Context(), first, r.rotation.Present))

	r.used = []string{tokenID}
	_, err = r.rotation.Run(t.Context())
	require.EqualError(t, err, "the state still contains the former token "+tokenID)
	require.ErrorIs(t, err, pve.ErrTokenInUse)
	require.True(t, r.has(tokenID))

	r.used = nil
	step, err = r.rotation.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, &pve.TokenStep{Former: tokenID}, step)
	require.False(t, r.has(tokenID))
	_, err = first.Reach(t.Context())
	require.ErrorContains(t, err, "refuses the token "+tokenID)

	r.rotation.Lifetime = time.Hour
	step, err = r.rotation.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, &pve.TokenStep{Made: tokenID + "-r3", Former: tokenID + "-r2"}, step)
	reader, err := pve.NewReader(r.rotation.Present)
	require.NoError(t, err)
	end, err := reader.TokenEnd(t.Context(), tokenID+"-r3")
	require.NoError(t, err)
	require.Equal(t, r.clock.Now().Add(time.Hour).Truncate(time.Second), end)
}

// TestARotationGoesOn: a token whose secret was lost with a killed run is made anew.
func TestARotationGoesOn(t *testing.T) {
	t.Parallel()
	r := newRotating(t)
	save := r.rotation.Save
	lost := ""
	r.rotation.Save = func(token string) error { lost = token; return errors.New("killed") }
	_, err := r.rotation.Run(t.Context())
	require.EqualError(t, err, "killed")
	require.True(t, r.has(tokenID+"-r2"))

	r.rotation.Save = save
	_, err = r.rotation.Run(t.Context())
	require.NoError(t, err)
	gone := r.rotation.Present
	gone.Token = lost
	_, err = gone.Reach(t.Context())
	require.ErrorContains(t, err, "refuses the token "+tokenID+"-r2")
	_, err = r.rotation.Present.Reach(t.Context())
	require.NoError(t, err)
}

// TestATokenThatAnotherHasIsNotMadeAnew: two stacks with one token replace it one after the other, and both new ones work.
func TestATokenThatAnotherHasIsNotMadeAnew(t *testing.T) {
	t.Parallel()
	r := newRotating(t)
	second := r.rotation
	_, err := r.rotation.Run(t.Context())
	require.NoError(t, err)
	r.taken = []string{tokenID + "-r2"}

	refused := errors.New("another stack has it")
	second.MayRemake = func(string) (bool, error) { return false, refused }
	_, err = second.Run(t.Context())
	require.ErrorIs(t, err, refused)
	second.MayRemake = r.rotation.MayRemake
	second.Save = func(token string) error { second.Present.Token = token; return nil }
	step, err := second.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, &pve.TokenStep{Made: tokenID + "-r3", Former: tokenID}, step)

	step, err = r.rotation.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, &pve.TokenStep{Former: tokenID}, step)
	step, err = r.rotation.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, &pve.TokenStep{Made: tokenID + "-r4", Former: tokenID + "-r2"}, step, "r3 was made for another one")
	for _, present := range []pve.Connection{r.rotation.Present, second.Present} {
		_, err = present.Reach(t.Context())
		require.NoError(t, err)
	}
}

func TestTokensThatAreNotReplaced(t *testing.T) {
	t.Parallel()
	r := newRotating(t)
	own := r.rotation
	own.Administrator = own.Present
	_, err := own.Run(t.Context())
	require.ErrorIs(t, err, pve.ErrNoAdministrator, "a token may not manage the tokens of its user")

	_, err = r.tokens().Create(t.Context(), tokenID+"-r2", pve.TokenSettings{Comment: "of somebody", Separated: true})
	require.NoError(t, err)
	_, err = r.rotation.Run(t.Context())
	require.EqualError(t, err, "the token "+tokenID+"-r2 exists already and was not made for this: delete it, or give it another name")
	require.True(t, r.has(tokenID+"-r2"))
}

// TestATokenWithTooLittleIsDeleted covers an administrator who may make tokens but not give them roles.
func TestATokenWithTooLittleIsDeleted(t *testing.T) {
	t.Parallel()
	secret := rand.Text()
	e := newHost(t, func(c *proxmox.Config) {
		c.Tokens = append(c.Tokens, proxmox.Token{ID: "admin@pve!users", Secret: secret, Role: "PVEUserAdmin"})
	})
	administrator := e.connection
	administrator.Token = "admin@pve!users=" + secret
	rotation := pve.TokenRotation{Present: e.connection, Administrator: administrator, Now: e.clock.Now, Save: func(string) error { return errors.New("never") }}
	_, err := rotation.Run(t.Context())
	require.ErrorContains(t, err, "the token "+tokenID+"-r2 has not Datastore.Allocate on /, which the present token has: give the administrator's token Permissions.Modify on /")
	tokens, err := pve.NewTokens(administrator)
	require.NoError(t, err)
	_, found, err := tokens.Find(t.Context(), tokenID+"-r2")
	require.NoError(t, err)
	require.False(t, found)
}

// TestATokenWithAnEndWantsALifetime: a copy of the end would be no rotation.
func TestATokenWithAnEndWantsALifetime(t *testing.T) {
	t.Parallel()
	r := newRotating(t)
	client, err := r.rotation.Administrator.Client()
	require.NoError(t, err)
	require.NoError(t, client.Put(t.Context(), "/access/users/"+url.PathEscape("em-infra@pve")+"/token/test", map[string]any{"expire": r.clock.Now().Add(time.Hour).Unix()}, nil))
	_, err = r.rotation.Run(t.Context())
	require.ErrorIs(t, err, pve.ErrTokenEnds)
	require.False(t, r.has(tokenID+"-r2"))
}
