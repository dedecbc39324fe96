package home

// InlinesSecret says whether a key of config.yaml names a secret and its value is literal text, which a Profile may not
// hold: a reference such as ${NAME} is what to write instead.
func InlinesSecret(key string, value any) bool { return inlinesSecret(key, value) }
