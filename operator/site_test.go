package operator_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory/secrets"
	"github.com/em-infra/em-infra/internal/inventory/secrets/sopstest"
	"github.com/em-infra/em-infra/operator"
)

// TestEachStackHasItsOwnEnvironment: variables from the secrets of a stack are not set for the next one, also after an error, and variables that were
// set before the site are restored.
func TestEachStackHasItsOwnEnvironment(t *testing.T) {
	root, key := projectOfHosts(t, "a@https://one:8006", "b@https://one:8006", "c@https://two:8006"), sopstest.NewKey(t)
	for _, name := range []string{"PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"} {
		unset(t, name)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "of the shell") // half of a key; a key in a file wins over it
	t.Setenv(secrets.KeyVariable, key.String())
	for stack, text := range map[string]string{"a": "pulumi: {passphrase: of a}\n", "b": "state: {accessKeyId: of b, secretAccessKey: of b}\n"} {
		write(t, filepath.Join(root, "stacks", stack, secrets.File), sopstest.Encrypt(t, text, key))
	}
	environment := func() map[string]string {
		found := map[string]string{}
		for _, name := range []string{"PULUMI_CONFIG_PASSPHRASE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
			if value, isSet := os.LookupEnv(name); isSet {
				found[name] = value
			}
		}
		return found
	}
	shell := map[string]string{"AWS_ACCESS_KEY_ID": "of the shell"}

	seen := map[string]map[string]string{}
	require.NoError(t, operator.EachStack(t.Context(), operator.SiteOptions{Project: root}, func(_ context.Context, o *operator.Operator) error {
		seen[o.Workspace().Stack] = environment()
		return nil
	}))
	require.Equal(t, map[string]map[string]string{
		"a": {"PULUMI_CONFIG_PASSPHRASE": "of a", "AWS_ACCESS_KEY_ID": "of the shell"},
		"b": {"AWS_ACCESS_KEY_ID": "of b", "AWS_SECRET_ACCESS_KEY": "of b"},
		"c": shell,
	}, seen)
	require.Equal(t, shell, environment())

	err := operator.EachStack(t.Context(), operator.SiteOptions{Project: root}, func(context.Context, *operator.Operator) error { return errRefused })
	require.EqualError(t, err, "a: it is protected")
	require.ErrorIs(t, err, errRefused)
	require.Equal(t, shell, environment())
}

// TestHowTheStacksOfASiteAreOpened: with the options for each, but as stacks of this project and of this rehearsal.
func TestHowTheStacksOfASiteAreOpened(t *testing.T) {
	t.Parallel()
	root := projectOfHosts(t, "a@https://one:8006", "b@https://one:8006")
	errOptions := errors.New("these options do not go together")
	options := operator.SiteOptions{Project: root, Lab: labs{exist: []string{"/a"}}, Options: func(stack operator.StackSummary) (operator.Options, error) {
		if stack.Stack == "b" {
			return operator.Options{}, errOptions
		}
		return operator.Options{Stack: "another", Project: t.TempDir(), Inventory: t.TempDir()}, nil
	}}
	var opened []operator.Workspace
	err := operator.EachStack(t.Context(), options, func(_ context.Context, o *operator.Operator) error {
		opened = append(opened, o.Workspace())
		return nil
	})
	require.EqualError(t, err, "b: these options do not go together")
	require.Len(t, opened, 1)
	require.Equal(t, "a", opened[0].Stack)
	require.True(t, opened[0].Rehearsed)
	require.Equal(t, filepath.Join(root, "stacks", "a"), opened[0].Inventory)

	options.Options = func(operator.StackSummary) (operator.Options, error) { return operator.Options{}, errOptions }
	result, err := operator.RunSite(t.Context(), operator.SiteStatus, options)
	require.NoError(t, err)
	require.Equal(t, []string{"a: failed", "b: failed"}, outcomes(result))
	require.Equal(t, errOptions, result.Stacks[0].Err, "it is that of the stack, as it is")

	options.Lab = labs{}
	_, err = operator.RunSite(t.Context(), operator.SiteStatus, options)
	require.EqualError(t, err, "no stack of this project is rehearsed yet: bring the site up on a lab with `em-infra site up --lab`")
	_, err = operator.RunSite(t.Context(), operator.SiteUp, operator.SiteOptions{Project: projectOfHosts(t)})
	require.EqualError(t, err, "this project has no stack: make one with `em-infra init`")
}
