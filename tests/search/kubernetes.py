"""A schema of the fields of Kubernetes and KubeRay that skipstack's manifests use, and of no others.

It is written by hand after KubeRay's reference of ray.io/v1 (1.5.1 to 1.6.2) and that of Kubernetes, since no
installable package has their schemas, which are a megabyte in size. It detects misspelt and misplaced fields, but not
fields that KubeRay will remove.
"""

from typing import Any

Schema = dict[str, Any]

WORD: Schema = {"type": "string", "minLength": 1}
COUNT: Schema = {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}
YES: Schema = {"type": "boolean"}
WORDS: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
AMOUNT: Schema = {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$"}


def one_of(*words: str) -> Schema:
    """Return a schema of one of these words."""
    return {"enum": list(words)}


def listed(item: Schema) -> Schema:
    """Return a schema of a non-empty list."""
    return {"type": "array", "items": item, "minItems": 1}


def fields(needed: Schema | None = None, **optional: Schema) -> Schema:
    """Return a schema of a mapping with only these fields."""
    needed = needed or {}
    return {
        "type": "object",
        "properties": {**needed, **optional},
        "required": list(needed),
        "additionalProperties": False,
    }


def manifest(version: str, kind: str, **rest: Schema) -> Schema:
    """Return a schema of a whole document, which must have a name."""
    named = fields({"name": {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}}, annotations=WORDS)
    return fields({"apiVersion": one_of(version), "kind": one_of(kind), "metadata": named, **rest})


RESOURCES = fields(
    requests={"type": "object", "additionalProperties": AMOUNT},
    limits={"type": "object", "additionalProperties": AMOUNT},
)
CONTAINER = fields(
    {"name": WORD, "image": WORD},
    command=listed(WORD),
    env=listed(fields({"name": WORD}, value={"type": "string"})),
    resources=RESOURCES,
    volumeMounts=listed(fields({"name": WORD, "mountPath": {"type": "string", "pattern": "^/"}}, readOnly=YES)),
)
POD = fields(
    {"containers": listed(CONTAINER)},
    nodeSelector=WORDS,
    restartPolicy=one_of("Always", "OnFailure", "Never"),
    securityContext=fields(fsGroup=COUNT),
    terminationGracePeriodSeconds=COUNT,
    tolerations=listed(
        fields(
            key=WORD,
            operator=one_of("Exists", "Equal"),
            value={"type": "string"},
            effect=one_of("NoSchedule", "PreferNoSchedule", "NoExecute"),
        )
    ),
    volumes=listed(fields({"name": WORD}, persistentVolumeClaim=fields({"claimName": WORD}, readOnly=YES))),
)
TEMPLATE = fields({"spec": POD}, metadata=fields(annotations=WORDS, labels=WORDS))
GROUP = fields(
    {
        "groupName": WORD,
        "minReplicas": COUNT,
        "maxReplicas": COUNT,
        "rayStartParams": WORDS,
        "template": TEMPLATE,
    },
    replicas=COUNT,
)
CLUSTER = fields(
    {"headGroupSpec": fields({"rayStartParams": WORDS, "template": TEMPLATE})},
    authOptions=fields(mode=one_of("token", "disabled")),
    autoscalerOptions=fields(
        idleTimeoutSeconds=COUNT,
        upscalingMode=one_of("Default", "Aggressive", "Conservative"),
        version=one_of("v1", "v2"),
        resources=RESOURCES,
    ),
    enableInTreeAutoscaling=YES,
    rayVersion={"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
    workerGroupSpecs=listed(GROUP),
)
JOB = manifest(
    "ray.io/v1",
    "RayJob",
    spec=fields(
        {"entrypoint": WORD, "rayClusterSpec": CLUSTER},
        activeDeadlineSeconds=COUNT,
        backoffLimit=COUNT,
        shutdownAfterJobFinishes=YES,
        submissionMode=one_of("K8sJobMode", "HTTPMode", "InteractiveMode"),
        ttlSecondsAfterFinished=COUNT,
    ),
)
CLAIM = manifest(
    "v1",
    "PersistentVolumeClaim",
    spec=fields(
        {
            "accessModes": listed(one_of("ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod")),
            "resources": fields({"requests": fields({"storage": AMOUNT})}),
        },
        storageClassName=WORD,
    ),
)
VISIT = manifest("v1", "Pod", spec=POD)
STORAGE = manifest(
    "storage.k8s.io/v1",
    "StorageClass",
    provisioner=WORD,
    volumeBindingMode=one_of("Immediate", "WaitForFirstConsumer"),
    parameters=WORDS,
)
NODES = manifest(
    "karpenter.sh/v1",
    "NodePool",
    spec=fields(
        {
            "template": fields(
                {
                    "spec": fields(
                        {
                            "nodeClassRef": fields({"group": WORD, "kind": WORD, "name": WORD}),
                            "requirements": listed(
                                fields(
                                    {
                                        "key": WORD,
                                        "operator": one_of("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"),
                                    },
                                    values=listed(WORD),
                                )
                            ),
                        }
                    )
                }
            )
        },
        limits={"type": "object", "additionalProperties": AMOUNT},
        disruption=fields(
            {"consolidateAfter": {"type": "string", "pattern": "^([0-9]+[smh])+$|^Never$"}},
            consolidationPolicy=one_of("WhenEmpty", "WhenEmptyOrUnderutilized"),
        ),
    ),
)
