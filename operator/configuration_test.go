package operator_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator"
)

// TestALabWithoutANASForgetsTheFormerOne: the key of the former one opens nothing any more. A key without a lab's box is the user's own.
func TestALabWithoutANASForgetsTheFormerOne(t *testing.T) {
	t.Parallel()
	none := auto.ConfigMap{"em-infra:proxmoxEndpoint": {Value: "https://127.0.0.1:8006"}}
	key := auto.ConfigMap{"em-infra:truenasApiKey": {Value: "1-made-up", Secret: true}}
	both := auto.ConfigMap{"em-infra:truenasApiKey": {Value: "1-made-up", Secret: true}, "em-infra:labStorage": {Value: "https://127.0.0.1:8443#CD"}}
	require.Equal(t, []string{"em-infra:labStorage", "em-infra:truenasApiKey"}, operator.FormerStorage(both, none))
	require.Empty(t, operator.FormerStorage(both, both))
	require.Empty(t, operator.FormerStorage(key, none))
	require.Empty(t, operator.FormerStorage(none, both))
}
