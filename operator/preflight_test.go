package operator

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChecksNameTheStack(t *testing.T) {
	t.Parallel()
	s, _ := sessionWith(t, nil, true)
	checks := Checks{{Name: "address", Sentence: "see `em-infra status`", Remedy: "give the token VM.Audit on /vms; `em-infra role` prints how"}}
	require.Equal(t, Checks{{
		Name: "address", Sentence: "see `em-infra status --stack k3s-dev --lab`", Remedy: "give the token VM.Audit on /vms; `em-infra role --stack k3s-dev --lab` prints how",
	}}, s.inPlaceOf(checks))
	require.Equal(t, "see `em-infra status`", checks[0].Sentence, "the report itself stays as it is")
}
