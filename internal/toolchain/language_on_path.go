package toolchain

import (
	"context"
	"os"
	"path/filepath"
)

// languageHostOnPath returns the language host on PATH, or in the folder of the pulumi on PATH, where Pulumi's own installers put
// it (getPluginInfoAndPath in workspace/plugins.go of the SDK). The engine accepts any version of it.
func (in *installer) languageHostOnPath(_ context.Context, w *wanted) (Tool, bool) {
	path, err := in.seams.lookPath(w.executable())
	if err != nil {
		path, err = in.besideCLI(w.executable())
	}
	if err != nil {
		return Tool{}, false
	}
	return Tool{Name: w.name, Kind: w.kind, Version: w.version, Origin: Official, Path: path, Installed: true}, true
}

func (in *installer) besideCLI(name string) (string, error) {
	cli, err := in.seams.lookPath("pulumi")
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(cli)
	if err != nil {
		return "", err
	}
	path := filepath.Join(filepath.Dir(real), name)
	_, err = os.Stat(path)
	return path, err
}
