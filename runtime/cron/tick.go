package cron

// sourceTick marks executions that the tick handed out.
const sourceTick = "builtin"
