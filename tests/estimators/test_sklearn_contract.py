"""scikit-learn's own checks of an estimator."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from textspectra import AutoAgglomerative, AutoKMeans

ZERO_ROW = "the check truncates its data to integers, which leaves a row of zeros: an error here, by design"


@parametrize_with_checks(
    [AutoKMeans(), AutoAgglomerative(), AutoKMeans(n_clusters=3), AutoAgglomerative(n_clusters=3)],
    expected_failed_checks=lambda estimator: {"check_estimators_dtypes": ZERO_ROW},
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
