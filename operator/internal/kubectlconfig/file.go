package kubectlconfig

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/em-infra/em-infra/internal/atomicfile"
)

// Usual returns the file that kubectl writes new contexts to: the first one in KUBECONFIG, else ~/.kube/config (client-go,
// tools/clientcmd/config.go, ModifyConfig).
func Usual() string {
	for _, file := range filepath.SplitList(os.Getenv(clientcmd.RecommendedConfigPathEnvVar)) {
		if file != "" {
			return file
		}
	}
	return clientcmd.RecommendedHomeFile
}

// copied is appended to the name of the copy of a file before its first change.
const copied = ".before-em-infra"

// Changed is the result of [Change].
type Changed struct {
	// File is the file that was named; a link is followed.
	File string
	// Copy is the copy of it that was made before this change, which was the first; empty for none.
	Copy string
	// Written is false if the content is what it was.
	Written bool
}

// Change changes a kubeconfig in one step, while kubectl waits. It stays readable by its owner alone, and a link to it stays. Before the
// first change it is copied. A file that does not exist is made, with its folder.
func Change(file string, change func(*clientcmdapi.Config) error) (*Changed, error) {
	target, err := resolved(file)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return nil, err
	}
	unlock, err := lock(target)
	if err != nil {
		return nil, err
	}
	result, err := changeLocked(target, change)
	if result != nil {
		result.File = file
	}
	return result, errors.Join(err, unlock())
}

func changeLocked(target string, change func(*clientcmdapi.Config) error) (*Changed, error) {
	before, err := os.ReadFile(target) //nolint:gosec // the user's own
	isNew := errors.Is(err, fs.ErrNotExist)
	if err != nil && !isNew {
		return nil, err
	}
	config, err := clientcmd.Load(before)
	if err != nil {
		// The cause could quote a secret.
		return nil, fmt.Errorf("%s is no kubeconfig: correct it, `kubectl config view --kubeconfig %[1]s` says where, or name another file with --file", target)
	}
	was := config.DeepCopy()
	if err := change(config); err != nil {
		return nil, err
	}
	result := &Changed{}
	if equal, err := equalText(was, config); err != nil || equal {
		return result, err
	}
	text, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("write %s: its new content cannot be encoded", target)
	}
	if !isNew {
		if result.Copy, err = keep(target, before); err != nil {
			return nil, err
		}
	}
	result.Written = true
	return result, errors.Join(atomicfile.Write(target, text, 0o600), os.Chmod(target, 0o600))
}

func equalText(a, b *clientcmdapi.Config) (bool, error) {
	first, err := clientcmd.Write(*a)
	second, errB := clientcmd.Write(*b)
	return string(first) == string(second), cmp.Or(err, errB)
}

// keep makes the copy of a file, once.
func keep(file string, text []byte) (string, error) {
	path := file + copied
	if _, err := os.Lstat(path); err == nil {
		return "", nil
	}
	return path, atomicfile.Write(path, text, 0o600)
}

// resolved follows links, so that they stay.
func resolved(file string) (string, error) {
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return file, nil
	}
	target, err := filepath.EvalSymlinks(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is a link to a file that does not exist: make that file, or name another one with --file", file)
	}
	return target, err
}

// lock takes the lock that client-go takes, which is a file beside it (tools/clientcmd/loader.go, lockFile).
func lock(file string) (unlock func() error, err error) {
	path := file + ".lock"
	held, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s exists, so another program is changing the file: try again, and remove the lock if there is none", path)
	}
	if err != nil {
		return nil, err
	}
	return func() error { return errors.Join(held.Close(), os.Remove(path)) }, nil
}
