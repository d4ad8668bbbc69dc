// Package review writes a plan as a comment for reviewers, in Markdown as GitHub, GitLab and Forgejo show it. Pure.
package review
