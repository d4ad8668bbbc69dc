package local

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gobwas/glob"
	"github.com/pulumi/pulumi-go-provider/infer/types"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// collect adds the files that the inputs name to the results.
func collect(dir string, in CommandInputs, results *Results) error {
	if in.AssetPaths != nil {
		files, err := match(dir, *in.AssetPaths)
		if err != nil {
			return fmt.Errorf("collect assetPaths: %w", err)
		}
		assets := map[string]*types.AssetOrArchive{}
		for path, asset := range files {
			assets[path] = &types.AssetOrArchive{Asset: asset}
		}
		results.Assets = &assets
	}
	if in.ArchivePaths != nil {
		files, err := match(dir, *in.ArchivePaths)
		if err != nil {
			return fmt.Errorf("collect archivePaths: %w", err)
		}
		members := map[string]any{}
		for path, asset := range files {
			members[path] = asset
		}
		archive, err := resource.NewAssetArchive(members)
		if err != nil {
			return fmt.Errorf("make the archive: %w", err)
		}
		results.Archive = archive
	}
	return nil
}

// rule is a glob. A glob that started with ! excludes files.
type rule struct {
	glob    glob.Glob
	exclude bool
}

// match returns the files under dir that the globs name, by slash-separated path relative to dir. The last matching rule counts. *
// stops at a slash, ** does not.
func match(dir string, patterns []string) (map[string]*resource.Asset, error) {
	rules := make([]rule, 0, len(patterns))
	for _, pattern := range patterns {
		text, exclude := strings.CutPrefix(pattern, "!")
		compiled, err := glob.Compile(text, '/')
		if err != nil {
			return nil, fmt.Errorf("%q is no glob: %w", pattern, err)
		}
		rules = append(rules, rule{glob: compiled, exclude: exclude})
	}

	files := map[string]*resource.Asset{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !wanted(path, rules) {
			return err
		}
		asset, err := resource.NewPathAsset(filepath.Join(dir, path))
		files[path] = asset
		return err
	})
	return files, err
}

func wanted(path string, rules []rule) bool {
	named := false
	for _, r := range rules {
		if r.glob.Match(path) {
			named = !r.exclude
		}
	}
	return named
}
