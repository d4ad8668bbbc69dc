package shell_test

import (
	"bytes"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/shell"
)

func TestWord(t *testing.T) {
	t.Parallel()
	for text, quoted := range map[string]string{
		"": `''`, "a b": `'a b'`, "it's": `'it'\''s'`, "$(x)`y`\\": "'$(x)`y`\\'", "/a/b-1.c": "/a/b-1.c",
	} {
		require.Equal(t, quoted, shell.Word(text))
		var printed bytes.Buffer
		command := exec.Command("sh", "-c", "printf %s "+shell.Word(text))
		command.Stdout = &printed
		require.NoError(t, command.Run())
		require.Equal(t, text, printed.String())
	}
}
