package operator_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator"
)

func TestSentenceOf(t *testing.T) {
	t.Parallel()
	quoted := func(stderr string) error {
		return errors.New("failed to select stack: exit status 255\ncode: 255\nstdout: \nstderr: " + stderr + "\n")
	}
	for _, test := range []struct {
		name    string
		err     error
		want    string
		refused bool
	}{
		{"none", nil, "", false},
		{"another", errors.New("no such file"), "no such file", false},
		{"the CLI's", quoted("warning: old\nerror: could not open the bucket"), "pulumi says: could not open the bucket", false},
		{
			"wrong passphrase", quoted("error: get stack secrets manager: incorrect passphrase"),
			"the passphrase is not that of the stack's secrets: set PULUMI_CONFIG_PASSPHRASE_FILE to the file that holds it", true,
		},
		{"nothing that the CLI called an error", quoted("panic"), quoted("panic").Error(), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := operator.SentenceOf(test.err)
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.want)
			require.Equal(t, err, operator.SentenceOf(err), "a second time changes nothing")
			require.Equal(t, test.refused, errors.As(err, new(*operator.RefusedError)))
		})
	}
}
