// Package forge writes what a pipeline reports to GitHub, GitLab or Forgejo: one comment on a change, which is edited and not repeated,
// and one issue, which is opened and closed.
package forge
