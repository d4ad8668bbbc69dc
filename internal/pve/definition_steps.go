package pve

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/luthermonson/go-proxmox"

	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// definitionRun is what a run of one kind of definition adds to the steps that all kinds share: an existing definition is adopted, and only a
// definition that the stack has made is removed.
type definitionRun interface {
	// String names the definition in a sentence, such as storage nas.
	String() string
	// look returns the present definition; nil if there is none that the token may see.
	look(ctx context.Context) (*proxmox.Client, definition, error)
	// settings returns the settings of the definition that Proxmox VE never changes, and those that it can change.
	settings() (fixed, changeable []hostspec.Setting)
	// isMade is whether this stack has made the definition.
	isMade() bool
	// hasSecret is whether it has a secret, which Proxmox VE does not read back, so that every Apply sets it.
	hasSecret() bool

	create(ctx context.Context, client *proxmox.Client) error
	change(ctx context.Context, client *proxmox.Client) error
	remove(ctx context.Context, client *proxmox.Client) error

	// refuseFixed returns the refusal of a present definition that differs in what Proxmox VE never changes.
	refuseFixed(differences []string) error
	// checkForeseen returns the refusal of create, or of change if there is a present definition, as far as it can be known before.
	checkForeseen(ctx context.Context, client *proxmox.Client, present definition) error
	// checkRemoval returns the refusal of remove, as far as it can be known before.
	checkRemoval(ctx context.Context) error
	// separator is what stands between differences in a sentence.
	separator() string
}

// applyDefinition makes a definition, or changes the one that is there. It refuses, with nothing changed, if Proxmox VE would have to create the
// definition anew.
func applyDefinition(ctx context.Context, run definitionRun) (Outcome, error) {
	client, present, err := run.look(ctx)
	if err != nil {
		return "", err
	}
	if present == nil {
		return OutcomeMade, run.create(ctx, client)
	}
	if err := checkFixed(run, present); err != nil {
		return "", err
	}
	outcome := OutcomeAdopted
	if run.isMade() {
		outcome = OutcomeMade
	}
	if _, changeable := run.settings(); len(present.differences(changeable)) == 0 && !run.hasSecret() {
		return outcome, nil
	}
	return outcome, run.change(ctx, client)
}

// foreseeDefinition returns a sentence about what applyDefinition would do, and the refusal that it would begin with. It changes nothing.
func foreseeDefinition(ctx context.Context, run definitionRun) (string, error) {
	client, present, err := run.look(ctx)
	switch {
	case err != nil:
		return "", err
	case present == nil:
		return run.String() + " is made", run.checkForeseen(ctx, client, nil)
	}
	switch err := checkFixed(run, present); {
	case err != nil && run.isMade(): // its Command is replaced
		return run.String() + " is made anew", cmp.Or(run.checkRemoval(ctx), run.checkForeseen(ctx, client, nil))
	case err != nil:
		return "", err
	}
	_, changeable := run.settings()
	if differences := present.differences(changeable); len(differences) > 0 {
		return run.String() + " is changed: " + strings.Join(differences, run.separator()), run.checkForeseen(ctx, client, present)
	}
	return run.String() + " is as the inventory wants it", nil
}

// definitionDifferences returns what differs from the wanted definition, a sentence each.
func definitionDifferences(ctx context.Context, run definitionRun) ([]string, error) {
	_, present, err := run.look(ctx)
	switch {
	case err != nil:
		return nil, err
	case present == nil:
		return []string{"absent"}, nil
	default:
		fixed, changeable := run.settings()
		return present.differences(slices.Concat(fixed, changeable)), nil
	}
}

// releaseDefinition removes a definition if this stack has made it.
func releaseDefinition(ctx context.Context, run definitionRun) (Outcome, error) {
	if !run.isMade() {
		return OutcomeKept, nil
	}
	client, present, err := run.look(ctx)
	switch {
	case err != nil:
		return "", err
	case present == nil:
		return OutcomeGone, nil
	}
	if err := run.remove(ctx, client); err != nil {
		return "", err
	}
	return OutcomeRemoved, nil
}

func checkFixed(run definitionRun, present definition) error {
	fixed, _ := run.settings()
	if differences := present.differences(fixed); len(differences) > 0 {
		return run.refuseFixed(differences)
	}
	return nil
}
