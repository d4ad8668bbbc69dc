package command_test

import (
	"errors"
	"io"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/command"
)

// nowhere is a place without a lab.
type nowhere struct{}

var errNowhere = errors.New("there is no lab here")

func (nowhere) Bind(*cobra.Command)      {}
func (nowhere) Dir() (string, error)     { return "", errNowhere }
func (nowhere) VMID(string) (int, error) { return 0, nil }
func (nowhere) Lab() string              { return "the lab" }
func (nowhere) Place() string            { return "" }
func (nowhere) Typed(words string) string {
	return "em-infra-lab " + words
}
func (nowhere) Words() command.Words { return command.Words{Program: "em-infra-lab"} }

// TestFlagsOfASetUp: wrong ones are refused before the lab is asked.
func TestFlagsOfASetUp(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "nothing is to change: give --iommu on, --iommu off or --driver ADDRESS=DRIVER"},
		{[]string{"--iommu", "maybe"}, `--iommu: "maybe" is neither on nor off: choose one of the two`},
		{[]string{"--driver", "nouveau"}, `--driver: "nouveau" is no ADDRESS=DRIVER: write it as in 0000:01:00.0=nouveau`},
		{[]string{"--iommu", "off", "--driver", "0000:01:00.0="}, errNowhere.Error()},
	} {
		c := command.SetUp(nowhere{})
		c.SetArgs(append([]string{"vmhost"}, test.args...))
		c.SetOut(io.Discard)
		c.SetErr(io.Discard)
		require.EqualError(t, c.Execute(), test.want)
	}
}
