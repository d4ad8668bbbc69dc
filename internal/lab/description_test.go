package lab_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab"
)

func TestDescriptionRoundTrip(t *testing.T) {
	t.Parallel()
	dir, d := labDir(t), described(t)
	_, err := lab.ReadDescription(dir)
	require.Equal(t, lab.ErrNoLab, err)

	require.NoError(t, d.Write(dir))
	read, err := lab.ReadDescription(dir)
	require.NoError(t, err)
	require.Equal(t, d, read)
	require.Equal(t, "https://"+d.Proxmox.String(), read.ProxmoxEndpoint())
	require.Equal(t, "http://"+d.Factory.String(), read.FactoryURL())

	file, err := os.Stat(filepath.Join(dir, "lab.json"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), file.Mode(), "it holds a token")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
}

func TestDamagedDescription(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty": "", "cut off": `{"stack": "k3s-dev", "tok`, "of another kind": `{"token": {"secret": "made up"}}`, "not whole": `{"stack": "k3s-dev"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := labDir(t)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "lab.json"), []byte(text), 0o600))
			d, err := lab.ReadDescription(dir)
			require.EqualError(t, err, dir+"/lab.json is damaged: delete "+dir+" to begin anew")
			require.Equal(t, lab.Description{}, d)
			require.EqualError(t, lab.Start(t.Context(), dir, process(t, "serve", dir)), err.Error(), "the lab says so too")
		})
	}
}
