package poll

import (
	"fmt"
	"time"
)

// InWords returns the limit of a wait in minutes, or in seconds if it is shorter than a minute, as "6 min".
func InWords(limit time.Duration) string {
	if limit < time.Minute {
		return fmt.Sprintf("%.0f s", limit.Seconds())
	}
	return fmt.Sprintf("%.0f min", limit.Minutes())
}
