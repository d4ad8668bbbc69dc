package pve

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// TokenRotation replaces the token of a stack by a second one, in two runs: the first makes it, tries it and saves it, the second deletes the former
// one, once nothing uses it any more. The next step is determined from the tokens on the host, so that a run continues after a kill at any point.
type TokenRotation struct {
	// Present is the connection of the stack.
	Present Connection
	// Administrator is a connection whose token may make and delete tokens.
	Administrator Connection
	// Lifetime of the new token. Default: 0, it has no end.
	Lifetime time.Duration
	// Save writes the new token, USER@REALM!NAME=SECRET, to the configuration of the stack.
	Save func(token string) error
	// IsUsed reports whether the state of the stack still contains the token with that ID.
	IsUsed func(id string) (bool, error)
	// MayRemake reports whether the token with that ID, which was made to replace the present one, belongs to a killed run and to nothing else, so
	// that it may be deleted. Otherwise a token with another ID is made. Its error ends the rotation before anything is changed.
	MayRemake func(id string) (bool, error)
	// Now returns the present time.
	Now func() time.Time
}

// TokenStep is what one run has done.
type TokenStep struct {
	// Made is the ID of the new token; empty if the run deleted the former one.
	Made string
	// Former is the ID of the token that it replaces.
	Former string
}

var (
	// ErrNoAdministrator means that the administrator's token may not read tokens.
	ErrNoAdministrator = errors.New("the token may not manage tokens")
	// ErrTokenInUse means that the state still contains the former token.
	ErrTokenInUse = errors.New("the state still contains the former token")
	// ErrTokenEnds means that the present token has an end and no lifetime was chosen for the new one.
	ErrTokenEnds = errors.New("the present token has an end")
)

// replaces is the beginning of the comment of a token that was made here; the name of the former token follows.
const replaces = "em-infra: replaces "

// Run makes the next step. It changes nothing if its error wraps one of those above.
func (r TokenRotation) Run(ctx context.Context) (*TokenStep, error) {
	tokens, err := NewTokens(r.Administrator)
	if err != nil {
		return nil, err
	}
	id, _, _ := strings.Cut(r.Present.Token, "=")
	settings, found, err := tokens.Find(ctx, id)
	switch {
	case errors.Is(err, ErrForbidden):
		return nil, ErrNoAdministrator
	case err != nil:
		return nil, err
	case !found:
		return nil, fmt.Errorf("proxmox VE has no token %s, which the configuration of the stack names: make it with `pveum user token add`, set it with `pulumi config set --stack STACK --secret em-infra:proxmoxToken`, then run this again", id)
	}
	user, _, _ := strings.Cut(id, "!")
	if name, isOurs := strings.CutPrefix(settings.Comment, replaces); isOurs {
		former := user + "!" + name
		if _, there, err := tokens.Find(ctx, former); err != nil || there {
			return r.end(ctx, tokens, former, err)
		}
	}
	return r.replace(ctx, tokens, id, settings)
}

// end deletes the former token.
func (r TokenRotation) end(ctx context.Context, tokens Tokens, former string, err error) (*TokenStep, error) {
	if err != nil {
		return nil, err
	}
	used, err := r.IsUsed(former)
	if err != nil {
		return nil, err
	}
	if used {
		return nil, fmt.Errorf("%w %s", ErrTokenInUse, former)
	}
	return &TokenStep{Former: former}, tokens.Delete(ctx, former)
}

// replace makes the second token, tries it and saves it. A token that fails the trial is deleted.
func (r TokenRotation) replace(ctx context.Context, tokens Tokens, id string, settings TokenSettings) (*TokenStep, error) {
	if settings.Expire != 0 && r.Lifetime == 0 {
		return nil, ErrTokenEnds
	}
	comment := replaces + id[strings.Index(id, "!")+1:]
	next, err := r.free(ctx, tokens, id, comment)
	if err != nil {
		return nil, err
	}
	wanted := TokenSettings{Comment: comment, Separated: settings.Separated}
	if r.Lifetime > 0 {
		wanted.Expire = r.Now().Add(r.Lifetime).Unix()
	}
	token, err := tokens.Create(ctx, next, wanted)
	if err != nil {
		return nil, err
	}
	if err := r.try(ctx, tokens, id, token); err != nil {
		return nil, errors.Join(err, tokens.Delete(context.WithoutCancel(ctx), next))
	}
	return &TokenStep{Made: next, Former: id}, r.Save(token)
}

// free returns an ID for the new token that no token has. To free an ID, it deletes a token that a killed run has made and whose secret is lost. A
// token that was made for something else in use stays, and the next number is taken.
func (r TokenRotation) free(ctx context.Context, tokens Tokens, id, comment string) (string, error) {
	for next := nextTokenID(id); ; next = nextTokenID(next) {
		made, there, err := tokens.Find(ctx, next)
		switch {
		case err != nil:
			return "", err
		case !there:
			return next, nil
		case !strings.HasPrefix(made.Comment, replaces):
			return "", fmt.Errorf("the token %s exists already and was not made for this: delete it, or give it another name", next)
		case made.Comment != comment:
			continue
		}
		isLost, err := r.MayRemake(next)
		if err != nil {
			return "", err
		}
		if isLost {
			return next, tokens.Delete(ctx, next)
		}
	}
}

// try gives the new token the entries of the present one, and compares their privileges.
func (r TokenRotation) try(ctx context.Context, tokens Tokens, id, token string) error {
	next, _, _ := strings.Cut(token, "=")
	if err := tokens.CopyGrants(ctx, id, next); err != nil {
		return err
	}
	tried := r.Present
	tried.Token = token
	return SamePrivileges(ctx, r.Present, tried)
}

// turn matches the number at the end of the name of a token that was made here.
var turn = regexp.MustCompile(`^(.+)-r(\d{1,6})$`)

// nextTokenID returns operator-r2 after operator, and operator-r3 after operator-r2.
func nextTokenID(id string) string {
	parts := turn.FindStringSubmatch(id)
	if parts == nil {
		return id + "-r2"
	}
	number, _ := strconv.Atoi(parts[2]) // six digits
	return parts[1] + "-r" + strconv.Itoa(number+1)
}
