package cron

func runChild(string, []string) int { return 2 }
