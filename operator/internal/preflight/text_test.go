package preflight_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

func TestChecksNameTheStack(t *testing.T) {
	t.Parallel()
	checks := preflight.Report{
		{Name: "address", Result: preflight.Warn, Sentence: "see `em-infra status`", Remedy: "give the token VM.Audit on /vms; `em-infra role` prints how"},
		{Name: "storage", Result: preflight.Fail, Sentence: "there is no storage tank"},
	}
	there := checks.At(remedy.Place{Stack: "--stack k3s-dev --lab"})
	var text strings.Builder
	there.WriteText(&text)
	require.Equal(t, " warn  see `em-infra status --stack k3s-dev --lab`\n"+
		"       → give the token VM.Audit on /vms; `em-infra role --stack k3s-dev --lab` prints how\n"+
		" FAIL  there is no storage tank\n", text.String())
	require.Equal(t, "see `em-infra status`", checks[0].Sentence, "the report itself stays as it is")
}
