"""What counts as a secret in the settings, and where it belongs instead.

Claims carry the settings, Spark's arguments are in the process list of the host, and pages and messages show them. So a secret
is refused wherever it may be written: as a conf, an option, a parameter, a Java option, an environment variable of executors, or
a part of an address. One predicate, `is_secret`, answers for all of them: a name that means a secret, or a value that holds one.
"""

import re
from collections.abc import Iterator
from urllib.parse import unquote

_NO_SECRETS = "no secrets here: the file is read by many and Spark's arguments by every user of the host"

_VARIABLE_OR_FILE = (
    f"{_NO_SECRETS}; declare an environment variable in launch.environment, or name a file with mode 0600"
)

IN_TEXT = _VARIABLE_OR_FILE
IN_CONF = f"{_VARIABLE_OR_FILE} (Hadoop reads the one that spark.hadoop.hadoop.security.credential.provider.path names)"
IN_JAVA_OPTIONS = f"{_VARIABLE_OR_FILE}, as -Djava.security.auth.login.config=FILE does"
IN_VARIABLE = (
    f"{_NO_SECRETS}; declare the variable's name in launch.environment for the driver, and let executors on other hosts"
    " read a file with mode 0600"
)
IN_KAFKA_OPTION = (
    f"{_NO_SECRETS}; name a JAAS file with mode 0600 by -Djava.security.auth.login.config=FILE in"
    " spark.driver.extraJavaOptions, or let Kafka read the value itself (kafka.config.providers, $${file:PATH:KEY})"
)
IN_OPTION = f"{_VARIABLE_OR_FILE}, and let the job set the option from it"
IN_PARAMETER = f"{_VARIABLE_OR_FILE}, and let the job read it"
IN_JDBC_URL = (
    "an address without user and password, which have settings of their own: user, and password_file for a file with"
    " mode 0600"
)
IN_REST_URL = (
    "an address without user, password, key or token: token_file names a file with mode 0600 that holds a bearer token,"
    " url_file one that holds the whole address"
)

_WORDS = frozenset(
    {
        *("password", "passwd", "passphrase", "pwd", "pgpass", "secret", "token", "credential", "jaas", "userinfo"),
        *("apikey", "accesskey", "secretkey", "privatekey", "accountkey", "sharedkey", "signingkey", "encryptionkey"),
        *("authkey", "hmackey", "sshkey", "keystorekey", "apimsubscriptionkey", "webhook"),
    }
)
"""Words that mean a secret, alone, at the end of a longer one (`sslpassword`) or joined from up to three (`api.key`)."""
_WHOLE_WORDS = frozenset(
    {
        *("sig", "sas", "psk", "authorization"),
        *("credentials", "passwords", "secrets", "apikeys", "webhooks"),
    }
)
"""Words that mean one only as they stand: `design` and `tokens` are none."""
_LAST_WORDS = frozenset({"pass", "pw", "jwt", "cookie"})
"""Words that mean one only at the end of a name: `db.pass`, and not `pass_through`."""
_NO_PASSWORDS = ("bypass", "compass", "encompass", "overpass", "surpass", "trespass", "underpass")

_ABOUT = frozenset(
    {
        *("file", "files", "path", "location", "dir", "directory", "folder", "provider", "providers", "class", "type"),
        *("enabled", "mechanism", "binding", "source", "name", "arn", "ref", "ttl", "timeout", "interval", "lifetime"),
        *("length", "size", "count", "column", "columns", "field", "fields", "table", "topic", "topics", "schema"),
        *("format", "algorithm", "regex", "pattern", "ratio", "wait", "port", "method", "issuer", "audience", "scope"),
        *("mode", "mapping", "version", "alias"),
    }
)
"""A word of these behind a secret one, or at the end, makes it a name of something about the secret: `token_file`."""
_WHERE = frozenset({"url", "uri", "host", "endpoint", "address"})
"""As `_ABOUT`, but the address of a webhook is the secret itself."""

_HARMLESS = re.compile(
    r"^spark\.security\.credentials\."
    r"|^spark\.kerberos\.renewal\.credentials$"
    r"|^spark\.kubernetes\.(driver|executor)\.(secrets|secretKeyRef)\."
    r"|^spark\.kubernetes\.kerberos\.tokenSecret\."
    r"|private[._]?key[._]?id$",
    re.IGNORECASE,
)
"""Switches and references of Spark, which name a secret of Kubernetes and hold none."""
_AZURE_ACCOUNT = re.compile(r"\.\w+\.(dfs|blob|file|queue)\.core\.[a-z.]+$")
"""`fs.azure.account.key.<account>.dfs.core.windows.net`: what is configured stands before the account."""

_VARIABLE = re.compile(r"spark\.(executorEnv|yarn\.appMasterEnv)\.(?P<name>.+)", re.IGNORECASE)
_SECRET_VARIABLES = frozenset({"key", "auth", "dsn", "keys"})
"""What the name of a variable ends with where it holds a secret as a rule: `OPENAI_KEY`, `SENTRY_DSN`."""
_DATA_KEYS = frozenset(
    {"primary", "partition", "sort", "row", "routing", "foreign", "cache", "public", "group", "merge"}
)

_REFERENCE = re.compile(r"\$\{(?:env[:.]\w+|(?!env\b)\w+:[^{}\s]+)\}")
"""`${file:/etc/kafka.properties:password}` is looked up by Kafka itself (KIP-297), `${env.NAME}` by Hadoop."""
_LOOKED_UP = "<reference>"

_ASSIGNED = re.compile(
    r"""(?:(?<![\w.-])-D)?(?P<name>[A-Za-z][\w.-]*)["']?\s*=\s*["']?(?P<value>[^\s"';,&)=][^\s"';,&)]*)"""
)
_IN_JSON = re.compile(r"""["'](?P<name>[A-Za-z][\w.-]*)["']\s*:\s*["']?(?P<value>[^\s"',}]+)""")
_FLAG = re.compile(r"(?:^|\s)--?(?P<name>[A-Za-z][\w.-]*)\s+(?P<value>[^\s-]\S*)")

_GIVEN_AWAY = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY"
    r"|\b(AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bgh[pousr]_\w{30,}|\bglpat-[\w-]{16,}|\bxox[abeprs]-[\w-]{10,}|\b[sr]k_live_\w{16,}|\bAIza[\w-]{30,}|\bdapi[0-9a-f]{32}"
    r"|\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\."
)
"""Keys and tokens that are known by their form: PEM, AWS, GitHub, GitLab, Slack, Stripe, Google, Databricks, JWT."""
_LOGIN = re.compile(
    r"(?:^|authorization\s*[:=]\s*)[\"']?(?:bearer\s+\S|basic\s+(?=\S*(?-i:[A-Z0-9+/=]))[A-Za-z0-9+/]{6,}={0,2}(?:$|[\s\"']))",
    re.IGNORECASE,
)
_WEBHOOK = re.compile(
    r"https?://(?:"
    r"hooks\.(?:slack|zapier)\.com/\S|(?:[\w-]+\.)*discord(?:app)?\.com/api/webhooks/|[\w.-]*webhook\.office\.com/"
    r"|outlook\.office(?:365)?\.com/webhook|ntfy\.[^/\s]+/[^\s/?]|hc-ping\.com/\S|api\.telegram\.org/(?:file/)?bot"
    r"|maker\.ifttt\.com/|events\.pagerduty\.com/integration/|open\.feishu\.cn/open-apis/bot/"
    r"|\S*?/(?:web)?hooks?/(?:[\w-]+/)*(?=[\w-]*\d)[\w-]{16,})",
    re.IGNORECASE,
)
"""Addresses whose path is the secret: whoever has it may post."""

PASSWORD_IN_ADDRESS = re.compile(r"(?<=:)[^:/@\s]+(?=@)")
"""`s3a://key:…@bucket`"""
_LOGIN_IN_URI = re.compile(
    r"://[^/@\s]*:[^/@\s]+@"
    r"|://[^/@\s:]*:(?!\d{1,5}(?:[/?#]|$))[^@\s?#]+@"
    r"|https?://[^/@\s?#]+@"
    r"|jdbc:oracle:\w+:[^@\s/:]+/[^@\s]*@",
    re.IGNORECASE,
)
"""With a password, which may have a slash in it; of HTTP with anything at all: `https://key@host`."""
_USER_IN_URI = re.compile(r"^(?!(?:abfss?|wasbs?)://)[^?]*?(?://[^/]*@|:[^:/@\s]+/[^/@\s]+@)", re.IGNORECASE)
"""`jdbc:oracle:thin:@host` names nobody, and `abfss://container@account` a container."""
_USER = frozenset({"user", "username", "uid"})
_IN_QUERY = frozenset({"code", "key", "auth", "hmac", "signature", "sign"})
"""What a query of HTTP calls its secret, besides the names that mean one everywhere."""


def is_secret(name: str, value: str) -> bool:
    """Whether a setting is a secret, by its name or by what it holds. A switch is none, nor what is looked up elsewhere."""
    if holds_secret(value):
        return True
    return is_secret_name(name) and not _is_harmless(value)


def is_secret_name(name: str) -> bool:
    """Whether what bears this name is a secret: `db.pwd`, `apiKey`, and not `token_file`, `tokenizer` or `primary_key`."""
    if _HARMLESS.search(name):
        return False
    words = _words(_AZURE_ACCOUNT.sub("", name))
    for word, following in _secret_words(words):
        about = _ABOUT if word == "webhook" else _ABOUT | _WHERE
        if not about & {following, words[-1]}:
            return True
    return False


def mentions_secret(name: str) -> bool:
    """Whether a name may have to do with a secret: what is wrong at such a place is told without the value."""
    return bool(_VARIABLE.fullmatch(name)) or any(_secret_words(_words(name)))


def holds_secret(text: str) -> bool:
    """Whether a text has a secret somewhere inside: an assignment, a login in an address, a key known by its form."""
    return any(
        _is_given_away(form) or _assigns_secret(form) or ("://" in form and _names_somebody(form))
        for form in {text, unquote(text)}
    )


def secret_in_address(url: str) -> bool:
    """Whether an address of a server has somebody's name, password, key or token in it, or is itself a secret."""
    return holds_secret(url) or _names_somebody(url)


def secret_in_conf(name: str, value: str) -> str:
    """The way that is right for a secret among Spark's confs; empty where there is none."""
    if variable := _VARIABLE.fullmatch(name):
        is_one = is_secret(variable["name"], value) or _is_secret_variable(variable["name"])
        return IN_VARIABLE if is_one else ""
    if not is_secret(name, value):
        return ""
    return IN_JAVA_OPTIONS if name.lower().endswith("javaoptions") else IN_CONF


def _is_harmless(value: str) -> bool:
    return value.lower() in ("true", "false", _LOOKED_UP) or bool(_REFERENCE.search(value))


def _is_secret_variable(name: str) -> bool:
    """Variables are short of words: whatever ends in a key is taken for one, unless it is a key of data."""
    *others, last = _words(name) or [""]
    return last in _SECRET_VARIABLES and not _DATA_KEYS & {*others[-1:]}


def _is_given_away(text: str) -> bool:
    return any(form.search(text) for form in (_GIVEN_AWAY, _LOGIN, _LOGIN_IN_URI, _WEBHOOK))


def _assigns_secret(text: str) -> bool:
    plain = _REFERENCE.sub(_LOOKED_UP, text)
    found = (match for form in (_ASSIGNED, _IN_JSON, _FLAG) for match in form.finditer(plain))
    return any(is_secret_name(match["name"]) and not _is_harmless(match["value"]) for match in found)


def _names_somebody(url: str) -> bool:
    """A user before the host or among the properties; of HTTP also what its query calls a secret."""
    if _USER_IN_URI.search(url):
        return True
    is_http = url.lower().startswith(("http://", "https://"))
    asked = url.partition("?")[2] if is_http else url
    names = {match["name"].lower() for match in _ASSIGNED.finditer(asked)}
    return bool(names & (_IN_QUERY | _USER if is_http else _USER))


def _words(name: str) -> list[str]:
    """`sasl.jaas.config`, `accessToken`, `API_KEY`: their words in lower case."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


def _secret_words(words: list[str]) -> Iterator[tuple[str, str]]:
    """Those that mean a secret, each with the word behind it."""
    for index, word in enumerate(words):
        is_last = index == len(words) - 1
        for length in (1, 2, 3):
            joined = "".join(words[index : index + length])
            if joined in _WORDS or joined in _WHOLE_WORDS:
                yield joined, (*words[index + length :], "")[0]
        ends_so = any(word.endswith(secret) for secret in _WORDS)
        if ends_so or (is_last and (word in _LAST_WORDS or (word.endswith("pass") and word not in _NO_PASSWORDS))):
            yield word, (*words[index + 1 :], "")[0]
