// Package pipeline contains the pipelines that `em-infra ci init` writes for a stack, for GitHub Actions, GitLab CI and Forgejo Actions.
package pipeline
