package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator"
)

// TestTheCommandAfterADryRun is one that can be typed as it is.
func TestTheCommandAfterADryRun(t *testing.T) {
	t.Parallel()
	const place = "--stack k3s-dev"
	require.Equal(t, typed("etcd restore --stack k3s-dev"), restoreCommand(operator.EtcdRestoreOptions{}, place))
	require.Equal(t, typed("etcd restore --stack k3s-dev --from 2026-11-21T09-14-03-before-up --allow-replace cp-1 --allow-replace cp-2"), restoreCommand(operator.EtcdRestoreOptions{
		From:  "2026-11-21T09-14-03-before-up",
		Allow: []operator.Permission{{Flag: operator.FlagReplace, Subject: "cp-1"}, {Flag: operator.FlagReplace, Subject: "cp-2"}},
	}, place))
}
